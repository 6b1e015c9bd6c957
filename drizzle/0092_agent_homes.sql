CREATE INDEX CONCURRENTLY IF NOT EXISTS "agents_homes" ON "agents" USING btree ("company_id") WHERE "agents"."home_dir" is not null;
