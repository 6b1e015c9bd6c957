CREATE TABLE "approval_snoozes" (
	"reader_id" uuid NOT NULL,
	"approval_id" uuid NOT NULL,
	"snoozed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"snoozed_until" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "approval_snoozes_reader_id_approval_id_pk" PRIMARY KEY("reader_id","approval_id")
);
--> statement-breakpoint
ALTER TABLE "approval_snoozes" ADD CONSTRAINT "approval_snoozes_approval_id_approvals_id_fk" FOREIGN KEY ("approval_id") REFERENCES "public"."approvals"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "approval_snoozes_approval" ON "approval_snoozes" USING btree ("approval_id");