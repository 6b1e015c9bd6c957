-- Sums of spending get more digits than single amounts have: one that did not fit kept every run that it belongs to from ending.
-- allowed: nothing is written anew, as the scale stays the same and the precision only grows
ALTER TABLE "budget_incidents" ALTER COLUMN "spent_usd" SET DATA TYPE numeric(24, 8);--> statement-breakpoint
-- allowed: as above
ALTER TABLE "budget_windows" ALTER COLUMN "spent_usd" SET DATA TYPE numeric(24, 8);--> statement-breakpoint
-- allowed: as above
ALTER TABLE "budget_windows" ALTER COLUMN "reserved_usd" SET DATA TYPE numeric(24, 8);
