import { sql } from 'drizzle-orm';
import { boolean, index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { companies } from './companies.ts';
import { createdAt, id, instant, updatedAt } from './columns.ts';

export const providers = pgTable(
  'providers',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    adapter_type: text().notNull(),
    api_key_sealed: text(),
    custom_headers_sealed: text(),
    base_url: text(),
    enabled: boolean().notNull().default(true),
    embeddings: boolean().notNull().default(false),
    embedding_model: text(),
    default_model: text(),
    is_default: boolean().notNull().default(false),
    /** Set after a quota error: no calls are made before this instant. */
    paused_until: instant(),
    pause_reason: text(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    uniqueIndex('providers_company_name').on(t.company_id, sql`lower(${t.name})`),
    index('providers_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    uniqueIndex('providers_embeddings')
      .on(t.company_id)
      .where(sql`${t.embeddings}`),
    uniqueIndex('providers_default')
      .on(t.company_id)
      .where(sql`${t.is_default}`),
  ],
);
