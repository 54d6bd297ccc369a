#!/usr/bin/python3
"""check_sarif.py FILE...: what Deadheat relies on in SARIF 2.1.0, checked without the official schema.

Required properties and value sets of the objects that we write, plus what the schema cannot say: indexes that point
somewhere, relative URIs without absolute paths, every result with a fingerprint, thread flows in execution order.
"""
import json
import sys
from urllib.parse import urlparse

LEVELS = {"none", "note", "warning", "error"}
BASELINE = {"new", "unchanged", "updated", "absent"}
IMPORTANCE = {"important", "essential", "unimportant"}


class Checker:
    def __init__(self, path):
        self.path, self.errors = path, []

    def need(self, condition, where, what):
        if not condition:
            self.errors.append(f"{self.path}: {where}: {what}")
        return condition

    def message(self, value, where):
        if self.need(isinstance(value, dict), where, "is no message"):
            self.need(isinstance(value.get("text"), str) and value["text"], where, "message without text")

    def uri(self, artifact, where, bases):
        uri = artifact.get("uri", "")
        if not self.need(uri and all(33 <= ord(c) < 127 for c in uri), where, f"bad uri {uri!r}"):
            return
        if "uriBaseId" in artifact:
            self.need(artifact["uriBaseId"] in bases, where, "unknown uriBaseId")
            self.need(not urlparse(uri).scheme and not uri.startswith("/"), where, f"{uri} is not relative")
            self.need(".." not in uri.split("/"), where, f"{uri} leaves its base")
        else:
            self.need(urlparse(uri).scheme == "file" or uri.startswith(".."), where, f"{uri} has no base")

    def location(self, value, where, bases):
        self.need("physicalLocation" in value or "logicalLocations" in value or "message" in value, where, "says nothing")
        if "physicalLocation" in value:
            physical = value["physicalLocation"]
            self.uri(physical["artifactLocation"], where, bases)
            if "region" in physical:
                self.need(physical["region"].get("startLine", 0) >= 1, where, "startLine below 1")
        for logical in value.get("logicalLocations", []):
            self.need(logical.get("name"), where, "logical location without a name")
        if "message" in value:
            self.message(value["message"], where)

    def flows(self, result, where, bases):
        for flow in result.get("codeFlows", []):
            self.need(flow.get("threadFlows"), where, "codeFlow without threadFlows")
            orders = []
            for thread in flow["threadFlows"]:
                self.need(thread.get("locations"), where, "threadFlow without locations")
                own = [step["executionOrder"] for step in thread["locations"] if "executionOrder" in step]
                self.need(own == sorted(own), where, "steps of a thread out of order")
                orders += own
                for step in thread["locations"]:
                    self.location(step["location"], where, bases)
                    self.need(step.get("importance") in IMPORTANCE, where, "importance")
            self.need(len(orders) == len(set(orders)), where, "executionOrder given twice")

    def result(self, result, where, run):
        rules = run["tool"]["driver"]["rules"]
        bases = run.get("originalUriBaseIds", {})
        index = result.get("ruleIndex", -1)
        if self.need(0 <= index < len(rules), where, "ruleIndex"):
            self.need(rules[index]["id"] == result.get("ruleId"), where, "ruleIndex and ruleId disagree")
        self.need(result.get("level") in LEVELS, where, "level")
        self.need(0 <= result.get("rank", -1) <= 100, where, "rank")
        self.message(result.get("message"), where)
        self.need(result.get("locations"), where, "no location")
        for value in result.get("locations", []) + result.get("relatedLocations", []):
            self.location(value, where, bases)
        ids = [value.get("id") for value in result.get("relatedLocations", [])]
        self.need(all(isinstance(i, int) and i >= 0 for i in ids) and len(ids) == len(set(ids)), where, "location ids")
        prints = result.get("partialFingerprints", {})
        self.need(prints and all(isinstance(v, str) and v for v in prints.values()), where, "no fingerprint")
        if "baselineState" in result:
            self.need(result["baselineState"] in BASELINE, where, "baselineState")
        for suppression in result.get("suppressions", []):
            self.need(suppression.get("kind") in {"inSource", "external"}, where, "suppression kind")
            self.need(suppression.get("justification"), where, "suppression without justification")
        self.flows(result, where, bases)

    def run(self, run, where):
        driver = run.get("tool", {}).get("driver", {})
        self.need(driver.get("name") == "Deadheat", where, "tool.driver.name")
        ids = [rule.get("id") for rule in driver.get("rules", [])]
        self.need(len(ids) == len(set(ids)) and all(i.startswith("deadheat/") for i in ids), where, "rule ids")
        for rule in driver.get("rules", []):
            for part in ("shortDescription", "fullDescription", "help"):
                self.message(rule.get(part), f"{where} rule {rule.get('id')}.{part}")
        for invocation in run.get("invocations", []):
            self.need(isinstance(invocation.get("executionSuccessful"), bool), where, "executionSuccessful")
            for list_name in ("toolExecutionNotifications", "toolConfigurationNotifications"):
                for notification in invocation.get(list_name, []):
                    self.message(notification.get("message"), where)
                    self.need(notification.get("level") in LEVELS, where, "notification level")
        if self.need(isinstance(run.get("results"), list), where, "no results list"):
            for i, result in enumerate(run["results"]):
                self.result(result, f"{where}.results[{i}]", run)

    def check(self):
        with open(self.path, encoding="utf-8") as file:
            log = json.load(file)
        self.need(log.get("version") == "2.1.0", "version", "is not 2.1.0")
        self.need("2.1.0" in log.get("$schema", ""), "$schema", "does not name 2.1.0")
        if self.need(log.get("runs"), "runs", "missing"):
            for i, run in enumerate(log["runs"]):
                self.run(run, f"runs[{i}]")
        return self.errors


def check(path):
    return Checker(path).check()


if __name__ == "__main__":
    found = [error for path in sys.argv[1:] for error in check(path)]
    print("\n".join(found) or f"{len(sys.argv) - 1} files are right")
    sys.exit(1 if found or len(sys.argv) < 2 else 0)
