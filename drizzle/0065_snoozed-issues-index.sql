create index concurrently if not exists issue_reads_snoozed on issue_reads (reader_id, snoozed_until) where snoozed_until is not null
