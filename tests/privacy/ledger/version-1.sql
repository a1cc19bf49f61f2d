BEGIN TRANSACTION;
CREATE TABLE penstock_accounts (
	name VARCHAR(100) NOT NULL, 
	turn INTEGER NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "penstock_accounts" VALUES('people',7);
INSERT INTO "penstock_accounts" VALUES('visits',4);
INSERT INTO "penstock_accounts" VALUES('empty',1);
CREATE TABLE penstock_book (
	format VARCHAR(40) NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (format)
);
INSERT INTO "penstock_book" VALUES('penstock ledger',1);
CREATE TABLE penstock_entries (
	number INTEGER NOT NULL, 
	name VARCHAR(140) NOT NULL, 
	account VARCHAR(100) NOT NULL, 
	time VARCHAR(40) NOT NULL, 
	label TEXT NOT NULL, 
	epsilon TEXT NOT NULL, 
	delta TEXT NOT NULL, 
	relation VARCHAR(20) NOT NULL, 
	status VARCHAR(20) NOT NULL, 
	release TEXT NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE (name), 
	FOREIGN KEY(account) REFERENCES penstock_accounts (name)
);
INSERT INTO "penstock_entries" VALUES(1,'people/5a36eadad771','people','2026-11-16T15:27:40+00:00','confluence for people-release','1','1/1000000','add-remove','complete','people-release');
INSERT INTO "penstock_entries" VALUES(2,'people/1746a99dd3f6','people','2026-11-16T15:27:40+00:00','independent for second','1/2','0','add-remove','reserved','');
INSERT INTO "penstock_entries" VALUES(3,'people/83d05b5ecaa9','people','2026-11-16T15:27:40+00:00','independent for second','1/4','0','add-remove','returned','');
INSERT INTO "penstock_entries" VALUES(4,'visits/c23dc1ebb572','visits','2026-11-16T15:27:40+00:00','n-gram for visits','1/2','1/1000000','add-remove','complete','visits-release');
INSERT INTO "penstock_entries" VALUES(5,'visits/23103de4118b','visits','2026-11-16T15:27:40+00:00','n-gram for visits','1/2','0','replace','reserved','');
CREATE TABLE penstock_limits (
	number INTEGER NOT NULL, 
	account VARCHAR(100) NOT NULL, 
	time VARCHAR(40) NOT NULL, 
	epsilon TEXT NOT NULL, 
	delta TEXT NOT NULL, 
	relation VARCHAR(20) NOT NULL, 
	PRIMARY KEY (number), 
	FOREIGN KEY(account) REFERENCES penstock_accounts (name)
);
INSERT INTO "penstock_limits" VALUES(1,'people','2026-11-16T15:27:40+00:00','3','1/100000','add-remove');
INSERT INTO "penstock_limits" VALUES(2,'visits','2026-11-16T15:27:40+00:00','2','1/10000','replace');
INSERT INTO "penstock_limits" VALUES(3,'empty','2026-11-16T15:27:40+00:00','1','0','add-remove');
INSERT INTO "penstock_limits" VALUES(4,'people','2026-11-16T15:27:40+00:00','4','1/100000','add-remove');
CREATE INDEX ix_penstock_limits_account ON penstock_limits (account);
CREATE INDEX ix_penstock_entries_account ON penstock_entries (account);
COMMIT;
