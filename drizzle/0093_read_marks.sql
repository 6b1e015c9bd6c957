CREATE TABLE "read_marks" (
	"reader_id" uuid NOT NULL,
	"company_id" uuid NOT NULL,
	"read_to" timestamp (3) with time zone,
	CONSTRAINT "read_marks_reader_id_company_id_pk" PRIMARY KEY("reader_id","company_id")
);
--> statement-breakpoint
ALTER TABLE "read_marks" ADD CONSTRAINT "read_marks_company_id_companies_id_fk" FOREIGN KEY ("company_id") REFERENCES "public"."companies"("id") ON DELETE cascade ON UPDATE no action;