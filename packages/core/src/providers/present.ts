import type { Provider } from '@acp/contract';
import type { schema } from '@acp/db';

export type ProviderRow = typeof schema.providers.$inferSelect;

/** Without secrets, sealed or not. */
export function presentProvider(row: ProviderRow): Provider {
  return {
    id: row.id,
    company_id: row.company_id,
    name: row.name,
    adapter_type: row.adapter_type as Provider['adapter_type'],
    has_api_key: row.api_key_sealed !== null,
    has_custom_headers: row.custom_headers_sealed !== null,
    base_url: row.base_url,
    enabled: row.enabled,
    embeddings: row.embeddings,
    embedding_model: row.embedding_model,
    default_model: row.default_model,
    is_default: row.is_default,
    paused_until: row.paused_until,
    pause_reason: row.pause_reason,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
