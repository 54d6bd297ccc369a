-- A database as the first hive that served left it (schema 2): three candidates and a proved race, results of one agent, two leases.
-- What the agent said and sent, for first_hive in upgrade_test.py:
-- {"agent": "shop:ebb81e0e1814:f86a14e32378a23704ae15e156c97c43ad6445a032a29a79122f05b6f7f4f326", "developer": "shop:ac59fff2cb66:c7f7dbaa2d962f14bf6dd039c3b3fca423172bd994266b290091c1a4d80c4e63", "said": [["i0", {"id": "r0", "job": "c8a50820b449b125a66d6f46acfdb82f", "number": 2, "outcome": "race", "proof": "co_enabled", "order": "alternate", "execution": "e0", "tau_us": 1000}, true], ["i1", {"id": "r1", "job": "2e17db4203ccb5aa441725fc85473b4f", "number": 3, "outcome": "no_race", "proof": "none", "order": "primary", "execution": "e1", "tau_us": 1000}, true], ["i2", {"id": "r2", "job": "8c945065b1cf7301ca5e9ef7e25d0173", "number": 1, "outcome": "not_seen", "proof": "none", "order": "alternate", "execution": "e2", "tau_us": 1000}, true], ["i3", {"id": "r3", "job": "221f86b0cfc1ab065e469e8aa4021fd1", "number": 3, "outcome": "timeout", "proof": "none", "order": "alternate", "execution": "e3", "tau_us": 1000}, true], ["i4", {"id": "r4", "job": "6d94b23a7a474cedc297e385716ee6b0", "number": 2, "outcome": "no_race", "proof": "none", "order": "primary", "execution": "e4", "tau_us": 1000}, false], ["i5", {"id": "r5", "job": "36a12eb7d253646aa4652ed499bd8384", "number": 1, "outcome": "no_race", "proof": "none", "order": "primary", "execution": "e5", "tau_us": 1000}, false]]}
BEGIN TRANSACTION;
CREATE TABLE audit(
  program TEXT NOT NULL, step BIGINT NOT NULL, at_ms BIGINT NOT NULL,
  who TEXT NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL,
  PRIMARY KEY(program, step));
INSERT INTO "audit" VALUES('shop',1,1795037065567,'local','token','8844ad9b90cc admin');
INSERT INTO "audit" VALUES('shop',2,1795037065808,'local','token','ebb81e0e1814 agent');
INSERT INTO "audit" VALUES('shop',3,1795037066000,'local','token','ac59fff2cb66 developer trusted');
INSERT INTO "audit" VALUES('shop',4,1795037066126,'ac59fff2cb66','push','3 races added, 0 pieces of evidence');
INSERT INTO "audit" VALUES('shop',5,1795037066129,'ac59fff2cb66','push','1 races added, 1 pieces of evidence');
CREATE TABLE evidence(
  program TEXT NOT NULL, credential TEXT NOT NULL, id TEXT NOT NULL,
  number BIGINT NOT NULL, instance TEXT NOT NULL, execution BIGINT NOT NULL,
  outcome TEXT NOT NULL, proof TEXT NOT NULL, ord TEXT NOT NULL, ordered TEXT NOT NULL,
  maximum BIGINT NOT NULL, consequence TEXT NOT NULL, tau_us BIGINT NOT NULL,
  waited_us BIGINT NOT NULL, received_ms BIGINT NOT NULL, document TEXT,
  PRIMARY KEY(program, credential, id));
INSERT INTO "evidence" VALUES('shop','ac59fff2cb66','run/1',4,'',0,'race','happens_before','unknown','unknown',0,'none',0,0,1795037066129,'{
  "format": "deadheat-findings",
  "version": 2,
  "origins": [],
  "findings": [
    {
      "id": "DH-c1944074",
      "title": "Data race: access at unknown place and access at unknown place",
      "verdict": {
        "state": "true_race",
        "basis": "observed",
        "confidence": 1.0,
        "executions": 1,
        "races": 1
      },
      "kind": "data_race",
      "roles": [
        {
          "site": {
            "kind": "code"
          }
        },
        {
          "site": {
            "kind": "code"
          }
        }
      ],
      "evidence": [
        {
          "id": "run/1",
          "execution": "run",
          "outcome": "race",
          "proof": "happens_before"
        }
      ]
    }
  ]
}
');
INSERT INTO "evidence" VALUES('shop','ebb81e0e1814','r0',2,'i0',4,'race','co_enabled','alternate','unknown',0,'none',1000,0,1795037066132,NULL);
INSERT INTO "evidence" VALUES('shop','ebb81e0e1814','r1',3,'i1',2,'no_race','none','primary','unknown',0,'none',1000,0,1795037066135,NULL);
INSERT INTO "evidence" VALUES('shop','ebb81e0e1814','r2',1,'i2',4,'not_seen','none','alternate','unknown',0,'none',1000,0,1795037066137,NULL);
INSERT INTO "evidence" VALUES('shop','ebb81e0e1814','r3',3,'i3',6,'timeout','none','alternate','unknown',0,'none',1000,0,1795037066139,NULL);
CREATE TABLE history(
  program TEXT NOT NULL, number BIGINT NOT NULL, step BIGINT NOT NULL,
  at_ms BIGINT NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL,
  PRIMARY KEY(program, number, step));
INSERT INTO "history" VALUES('shop',1,1,1795037066126,'found','ac59fff2cb66');
INSERT INTO "history" VALUES('shop',2,1,1795037066126,'found','ac59fff2cb66');
INSERT INTO "history" VALUES('shop',3,1,1795037066126,'found','ac59fff2cb66');
INSERT INTO "history" VALUES('shop',4,1,1795037066129,'found','ac59fff2cb66');
INSERT INTO "history" VALUES('shop',4,2,1795037066129,'verdict','true_race observed');
INSERT INTO "history" VALUES('shop',2,2,1795037066132,'verdict','true_race claimed by 1');
CREATE TABLE hive_schema(version BIGINT NOT NULL PRIMARY KEY);
INSERT INTO "hive_schema" VALUES(1);
INSERT INTO "hive_schema" VALUES(2);
CREATE TABLE instances(
  program TEXT NOT NULL, credential TEXT NOT NULL, id TEXT NOT NULL,
  build_id TEXT NOT NULL, version TEXT NOT NULL, spent_ppm BIGINT NOT NULL, dropped BIGINT NOT NULL,
  jobs BIGINT NOT NULL, timeouts BIGINT NOT NULL, first_ms BIGINT NOT NULL, last_ms BIGINT NOT NULL,
  PRIMARY KEY(program, credential, id));
INSERT INTO "instances" VALUES('shop','ebb81e0e1814','i0','','',0,0,1,0,1795037066130,1795037066130);
INSERT INTO "instances" VALUES('shop','ebb81e0e1814','i1','','',0,0,1,0,1795037066133,1795037066133);
INSERT INTO "instances" VALUES('shop','ebb81e0e1814','i2','','',0,0,1,0,1795037066136,1795037066136);
INSERT INTO "instances" VALUES('shop','ebb81e0e1814','i3','','',0,0,1,1,1795037066138,1795037066138);
INSERT INTO "instances" VALUES('shop','ebb81e0e1814','i4','','',0,0,1,0,1795037066141,1795037066141);
INSERT INTO "instances" VALUES('shop','ebb81e0e1814','i5','','',0,0,1,0,1795037066142,1795037066142);
CREATE TABLE jobs(
  program TEXT NOT NULL, id TEXT NOT NULL,
  number BIGINT NOT NULL, credential TEXT NOT NULL, instance TEXT NOT NULL,
  ord TEXT NOT NULL, tau_us BIGINT NOT NULL, stride DOUBLE PRECISION NOT NULL,
  leased_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL, state TEXT NOT NULL,
  PRIMARY KEY(program, id));
INSERT INTO "jobs" VALUES('shop','c8a50820b449b125a66d6f46acfdb82f',2,'ebb81e0e1814','i0','alternate',1000,1.0,1795037066130,1795037666130,'done');
INSERT INTO "jobs" VALUES('shop','2e17db4203ccb5aa441725fc85473b4f',3,'ebb81e0e1814','i1','primary',1000,1.0,1795037066133,1795037666133,'done');
INSERT INTO "jobs" VALUES('shop','8c945065b1cf7301ca5e9ef7e25d0173',1,'ebb81e0e1814','i2','alternate',1000,1.0,1795037066136,1795037666136,'done');
INSERT INTO "jobs" VALUES('shop','221f86b0cfc1ab065e469e8aa4021fd1',3,'ebb81e0e1814','i3','alternate',1000,1.0,1795037066138,1795037666138,'done');
INSERT INTO "jobs" VALUES('shop','6d94b23a7a474cedc297e385716ee6b0',2,'ebb81e0e1814','i4','primary',1000,0.25,1795037066141,1795037666141,'leased');
INSERT INTO "jobs" VALUES('shop','36a12eb7d253646aa4652ed499bd8384',1,'ebb81e0e1814','i5','primary',1000,1.0,1795037066142,1795037666142,'leased');
CREATE TABLE programs(
  program TEXT NOT NULL PRIMARY KEY,
  next_number BIGINT NOT NULL DEFAULT 1,
  next_audit BIGINT NOT NULL DEFAULT 1,
  created_ms BIGINT NOT NULL);
INSERT INTO "programs" VALUES('shop',5,6,1795037065567);
CREATE TABLE race_keys(
  program TEXT NOT NULL, name TEXT NOT NULL, number BIGINT NOT NULL,
  PRIMARY KEY(program, name, number));
INSERT INTO "race_keys" VALUES('shop','id DH-0036de0f',1);
INSERT INTO "race_keys" VALUES('shop','lines server.c:5 server.c:5',1);
INSERT INTO "race_keys" VALUES('shop','id DH-c6400fff',2);
INSERT INTO "race_keys" VALUES('shop','lines server.c:9 server.c:9',2);
INSERT INTO "race_keys" VALUES('shop','id DH-81644185',3);
INSERT INTO "race_keys" VALUES('shop','lines server.c:13 server.c:13',3);
INSERT INTO "race_keys" VALUES('shop','id DH-a408deb5',4);
INSERT INTO "race_keys" VALUES('shop','lines server.c:50 server.c:50',4);
CREATE TABLE races(
  program TEXT NOT NULL, number BIGINT NOT NULL,
  display TEXT NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, place TEXT NOT NULL,
  document TEXT NOT NULL, state TEXT NOT NULL, owner TEXT NOT NULL,
  verdict TEXT NOT NULL, basis TEXT NOT NULL, confidence DOUBLE PRECISION NOT NULL,
  consequence TEXT NOT NULL, claimed_by BIGINT NOT NULL, proved BIGINT NOT NULL,
  promoted BIGINT NOT NULL, turn DOUBLE PRECISION NOT NULL, shuffle BIGINT NOT NULL,
  holders BIGINT NOT NULL, answered_primary BIGINT NOT NULL, answered_alternate BIGINT NOT NULL,
  first_ms BIGINT NOT NULL, last_ms BIGINT NOT NULL,
  PRIMARY KEY(program, number));
INSERT INTO "races" VALUES('shop',1,'DH-0036de0f','data_race','Data race on v0: write in work5() and write in work5()','work5() server.c:5, work5() server.c:5','{
  "format": "deadheat-findings",
  "version": 2,
  "origins": [],
  "findings": [
    {
      "id": "DH-0036de0f",
      "title": "Data race on v0: write in work5() and write in work5()",
      "verdict": {
        "state": "unknown",
        "basis": "none",
        "confidence": 0.0,
        "executions": 0
      },
      "kind": "data_race",
      "roles": [
        {
          "name": "first",
          "access": "write",
          "site": {
            "kind": "code",
            "function": "work5()",
            "file": "/src/server.c",
            "line": 5,
            "source_text": "v0++;",
            "variable": "v0"
          }
        },
        {
          "name": "second",
          "access": "write",
          "site": {
            "kind": "code",
            "function": "work5()",
            "file": "/src/server.c",
            "line": 5,
            "source_text": "v0++;",
            "variable": "v0"
          }
        }
      ],
      "found_by": [
        "scan"
      ]
    }
  ]
}
','open','','unknown','none',0.0,'none',0,0,0,2.0,9043906444974612987,1,0,1,1795037066126,1795037066137);
INSERT INTO "races" VALUES('shop',2,'DH-c6400fff','data_race','Data race on v1: write in work9() and write in work9()','work9() server.c:9, work9() server.c:9','{
  "format": "deadheat-findings",
  "version": 2,
  "origins": [],
  "findings": [
    {
      "id": "DH-c6400fff",
      "title": "Data race on v1: write in work9() and write in work9()",
      "verdict": {
        "state": "unknown",
        "basis": "none",
        "confidence": 0.0,
        "executions": 0
      },
      "kind": "data_race",
      "roles": [
        {
          "name": "first",
          "access": "write",
          "site": {
            "kind": "code",
            "function": "work9()",
            "file": "/src/server.c",
            "line": 9,
            "source_text": "v1++;",
            "variable": "v1"
          }
        },
        {
          "name": "second",
          "access": "write",
          "site": {
            "kind": "code",
            "function": "work9()",
            "file": "/src/server.c",
            "line": 9,
            "source_text": "v1++;",
            "variable": "v1"
          }
        }
      ],
      "found_by": [
        "scan"
      ]
    }
  ]
}
','open','','true_race','claimed',0.5,'none',1,0,0,1.25,8179411760293544633,1,0,1,1795037066126,1795037066132);
INSERT INTO "races" VALUES('shop',3,'DH-81644185','data_race','Data race on v2: write in work13() and write in work13()','work13() server.c:13, work13() server.c:13','{
  "format": "deadheat-findings",
  "version": 2,
  "origins": [],
  "findings": [
    {
      "id": "DH-81644185",
      "title": "Data race on v2: write in work13() and write in work13()",
      "verdict": {
        "state": "unknown",
        "basis": "none",
        "confidence": 0.0,
        "executions": 0
      },
      "kind": "data_race",
      "roles": [
        {
          "name": "first",
          "access": "write",
          "site": {
            "kind": "code",
            "function": "work13()",
            "file": "/src/server.c",
            "line": 13,
            "source_text": "v2++;",
            "variable": "v2"
          }
        },
        {
          "name": "second",
          "access": "write",
          "site": {
            "kind": "code",
            "function": "work13()",
            "file": "/src/server.c",
            "line": 13,
            "source_text": "v2++;",
            "variable": "v2"
          }
        }
      ],
      "found_by": [
        "scan"
      ]
    }
  ]
}
','open','','unknown','none',0.0,'none',0,0,0,2.0,1257360699238731543,0,1,1,1795037066126,1795037066139);
INSERT INTO "races" VALUES('shop',4,'DH-a408deb5','data_race','Data race on proved: write in work50() and write in work50()','work50() server.c:50, work50() server.c:50','{
  "format": "deadheat-findings",
  "version": 2,
  "origins": [],
  "findings": [
    {
      "id": "DH-a408deb5",
      "title": "Data race on proved: write in work50() and write in work50()",
      "verdict": {
        "state": "unknown",
        "basis": "none",
        "confidence": 0.0,
        "executions": 0
      },
      "kind": "data_race",
      "roles": [
        {
          "name": "first",
          "access": "write",
          "site": {
            "kind": "code",
            "function": "work50()",
            "file": "/src/server.c",
            "line": 50,
            "source_text": "proved++;",
            "variable": "proved"
          }
        },
        {
          "name": "second",
          "access": "write",
          "site": {
            "kind": "code",
            "function": "work50()",
            "file": "/src/server.c",
            "line": 50,
            "source_text": "proved++;",
            "variable": "proved"
          }
        }
      ],
      "found_by": [
        "scan"
      ]
    }
  ]
}
','open','','true_race','observed',1.0,'none',0,1,0,0.0,1621519118358035509,0,0,0,1795037066129,1795037066129);
CREATE TABLE secrets(name TEXT NOT NULL PRIMARY KEY, secret TEXT NOT NULL);
INSERT INTO "secrets" VALUES('session','e6ef62940883aaffd3ffedc733d6fe3574bf2946fe79b92af79d783cdb7d1595');
CREATE TABLE tokens(
  program TEXT NOT NULL, id TEXT NOT NULL,
  secret_hash TEXT NOT NULL, role TEXT NOT NULL, trusted BIGINT NOT NULL, label TEXT NOT NULL,
  created_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL, revoked_ms BIGINT NOT NULL,
  PRIMARY KEY(program, id));
INSERT INTO "tokens" VALUES('shop','8844ad9b90cc','e4f35fbc8f7b34442332d7016bca5a95bc487f57c23ab09dbab589b093a6af2e','admin',0,'made by hive init',1795037065567,0,0);
INSERT INTO "tokens" VALUES('shop','ebb81e0e1814','b4c96eb3be08c42d6739f0b0f67ae4f8609a155e3b4630bdedabb1734f74615b','agent',0,'',1795037065808,0,0);
INSERT INTO "tokens" VALUES('shop','ac59fff2cb66','5828902452afe0f69bf03f39efbb834687134cb1db3af3b743ca22e693908bf9','developer',1,'',1795037066000,0,0);
CREATE TABLE tried(
  program TEXT NOT NULL, number BIGINT NOT NULL, credential TEXT NOT NULL, instance TEXT NOT NULL,
  tau_primary BIGINT NOT NULL, tau_alternate BIGINT NOT NULL,
  tries_primary BIGINT NOT NULL, tries_alternate BIGINT NOT NULL,
  done_primary BIGINT NOT NULL, done_alternate BIGINT NOT NULL,
  PRIMARY KEY(program, number, credential, instance));
INSERT INTO "tried" VALUES('shop',2,'ebb81e0e1814','i0',0,0,0,1,0,1);
INSERT INTO "tried" VALUES('shop',3,'ebb81e0e1814','i1',0,0,1,0,0,0);
INSERT INTO "tried" VALUES('shop',1,'ebb81e0e1814','i2',0,0,0,1,0,0);
INSERT INTO "tried" VALUES('shop',3,'ebb81e0e1814','i3',0,51000,0,1,0,0);
CREATE INDEX races_turn ON races(program, proved, state, turn, shuffle);
CREATE INDEX evidence_race ON evidence(program, number);
CREATE INDEX jobs_holder ON jobs(program, credential, instance, state);
CREATE INDEX jobs_expiry ON jobs(program, state, expires_ms);
CREATE INDEX races_last ON races(program, last_ms);
COMMIT;
