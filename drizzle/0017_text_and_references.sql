DROP INDEX "notes_text";--> statement-breakpoint
-- What PostgreSQL's parser of words may be given of any text. It is quadratic on runs of `a_`, `~/`, `<!--` and their
-- like, because it looks for tags, paths and addresses: punctuation becomes blanks, and a word is letters and digits.
-- A tsvector holds 1 MB at most: 200,000 characters stay below it whatever they are (4 bytes and 4 of place each).
create function searchable_text(value text) returns text language sql immutable strict parallel safe as $$
  select translate(left(value, 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32))
$$;--> statement-breakpoint
alter table notes add column words tsvector not null
  generated always as (to_tsvector('simple', searchable_text(title || ' ' || body_markdown))) stored;--> statement-breakpoint
create index notes_text on notes using gin (words);--> statement-breakpoint
-- What was deleted for good is no longer referred to.
update projects r set goal_id = null where goal_id is not null and not exists (select from goals o where o.id = r.goal_id);--> statement-breakpoint
update projects r set lead_agent_id = null where lead_agent_id is not null and not exists (select from agents o where o.id = r.lead_agent_id);--> statement-breakpoint
update goals r set owner_agent_id = null where owner_agent_id is not null and not exists (select from agents o where o.id = r.owner_agent_id);--> statement-breakpoint
update notes r set issue_id = null where issue_id is not null and not exists (select from issues o where o.id = r.issue_id);--> statement-breakpoint
update routines r set assignee_agent_id = null where assignee_agent_id is not null and not exists (select from agents o where o.id = r.assignee_agent_id);--> statement-breakpoint
update routines r set project_id = null where project_id is not null and not exists (select from projects o where o.id = r.project_id);--> statement-breakpoint
update routines r set goal_id = null where goal_id is not null and not exists (select from goals o where o.id = r.goal_id);--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_goal_id_goals_id_fk" FOREIGN KEY ("goal_id") REFERENCES "public"."goals"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_lead_agent_id_agents_id_fk" FOREIGN KEY ("lead_agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "goals" ADD CONSTRAINT "goals_owner_agent_id_agents_id_fk" FOREIGN KEY ("owner_agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "routines" ADD CONSTRAINT "routines_assignee_agent_id_agents_id_fk" FOREIGN KEY ("assignee_agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "routines" ADD CONSTRAINT "routines_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "routines" ADD CONSTRAINT "routines_goal_id_goals_id_fk" FOREIGN KEY ("goal_id") REFERENCES "public"."goals"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "projects_goal" ON "projects" USING btree ("goal_id");--> statement-breakpoint
CREATE INDEX "projects_lead" ON "projects" USING btree ("lead_agent_id");--> statement-breakpoint
CREATE INDEX "goals_owner" ON "goals" USING btree ("owner_agent_id");--> statement-breakpoint
CREATE INDEX "notes_issue" ON "notes" USING btree ("issue_id");--> statement-breakpoint
CREATE INDEX "routines_assignee" ON "routines" USING btree ("assignee_agent_id");--> statement-breakpoint
CREATE INDEX "routines_project" ON "routines" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "routines_goal" ON "routines" USING btree ("goal_id");