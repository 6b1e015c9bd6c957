ALTER TABLE "storage_orphans" ADD COLUMN "doomed_at" timestamp (3) with time zone;--> statement-breakpoint
-- Rows go by many paths (a delete, the purge of an issue or a company and what cascades from it): whichever it is, the
-- key of the bytes is written down in the same transaction.
create function orphan_storage_key() returns trigger
language plpgsql as $$
begin
  insert into storage_orphans (storage_key, doomed_at) values (old.storage_key, now())
  on conflict (storage_key) do update set doomed_at = now();
  return null;
end
$$;
--> statement-breakpoint
create trigger attachments_orphan_storage_key after delete on attachments
for each row execute function orphan_storage_key();
--> statement-breakpoint
create trigger assets_orphan_storage_key after delete on assets
for each row execute function orphan_storage_key();
