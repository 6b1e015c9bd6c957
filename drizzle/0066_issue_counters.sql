CREATE TABLE "issue_counters" (
	"company_id" uuid PRIMARY KEY NOT NULL,
	"next" integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE "issue_counters" ADD CONSTRAINT "issue_counters_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
-- The release before takes numbers from the company's row: while both serve, one counter gives to both. The trigger comes ahead
-- of the copy, because making it waits for whoever has a number in hand, and holds up those who want one until the end.
create function take_from_issue_counter() returns trigger
language plpgsql as $$
begin
  insert into issue_counters as held (company_id, next) values (new.id, new.next_issue_number)
  on conflict (company_id) do update set next = held.next + new.next_issue_number - old.next_issue_number
  returning held.next into new.next_issue_number;
  return new;
end
$$;
--> statement-breakpoint
create trigger companies_next_issue_number before update of next_issue_number on companies
for each row when (new.next_issue_number is distinct from old.next_issue_number)
execute function take_from_issue_counter();
--> statement-breakpoint
insert into issue_counters (company_id, next) select id, next_issue_number from companies;
