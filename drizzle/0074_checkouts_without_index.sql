ALTER TABLE "issues" ADD COLUMN "self_checkout_agent_id" uuid;--> statement-breakpoint
update issues set self_checkout_agent_id = checked_out_by_agent_id
  where checked_out_by_agent_id is not null and checkout_run_id is null;--> statement-breakpoint
-- A run updates its agent and its issue twice. The new version fits into the same page, and no index is written, if the page has room.
alter table issues set (fillfactor = 80);--> statement-breakpoint
alter table agents set (fillfactor = 80);
