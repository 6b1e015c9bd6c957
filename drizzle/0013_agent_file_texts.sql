ALTER TABLE "agent_files" ADD COLUMN "content" text;--> statement-breakpoint
-- As for attachments: whichever way a row goes, the key of its bytes is written down in the same transaction.
create trigger agent_files_orphan_storage_key after delete on agent_files
for each row execute function orphan_storage_key();
