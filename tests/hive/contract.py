"""What the hive and its agents say, checked against docs/formats/hive-api.yaml: no field that is not documented, none that is missing."""
import json
import os
import re

try:
    import jsonschema
    import yaml
except ImportError:
    print("skipped: messages are not checked against the API's document (Debian packages python3-yaml, python3-jsonschema)")
    yaml = None

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/formats/hive-api.yaml")


class Contract:
    def __init__(self):
        self.document = None
        if yaml:
            with open(PATH, encoding="utf-8") as file:
                self.document = yaml.safe_load(file)
            self.paths = [(re.compile(re.sub(r"{\w+}", "[^/]+", path) + "$"), methods) for path, methods in self.document["paths"].items()]

    def strict(self, schema, complete):
        """The schema with its references in place; objects have only what is listed, and all of it where they are complete."""
        if "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        schema = dict(schema)
        if "items" in schema:
            schema["items"] = self.strict(schema["items"], complete)
        if "properties" in schema:
            schema["properties"] = {name: self.strict(one, complete) for name, one in schema["properties"].items()}
            schema["additionalProperties"] = False
            if complete:
                schema["required"] = list(schema["properties"])
        return schema

    def operation(self, method, path):
        for pattern, methods in self.paths:
            if pattern.match(path.split("?")[0]) and method.lower() in methods:
                return methods[method.lower()]
        return None

    @staticmethod
    def schema_of(part):
        return part.get("content", {}).get("application/json", {}).get("schema")

    def check_answer(self, method, path, status, headers, text):
        """Raises if the hive may not answer so."""
        if not yaml or not path.startswith("/api/v1/") or status in (413, 431):
            return
        if status != 200:
            jsonschema.validate(json.loads(text), self.strict({"$ref": "/Problem"}, True))
            return
        operation = self.operation(method, path)
        assert operation, f"{method} {path} is not documented"
        schema = self.schema_of(operation["responses"]["200"])
        kind = {name.lower(): value for name, value in headers.items()}["content-type"]
        if schema and kind.startswith("application/json"):
            jsonschema.validate(json.loads(text), self.strict(schema, True))

    def check_message(self, path, text):
        """What an agent sent."""
        if yaml:
            jsonschema.validate(json.loads(text), self.strict(self.schema_of(self.operation("POST", path)["requestBody"]), False))


CONTRACT = Contract()
