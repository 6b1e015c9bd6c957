-- Readers that have read marks, for the timer that moves these: what they have read stays in their rows until then.
INSERT INTO "read_marks" ("reader_id", "company_id")
SELECT DISTINCT r."reader_id", i."company_id" FROM "issue_reads" r JOIN "issues" i ON i."id" = r."issue_id"
ON CONFLICT DO NOTHING;
