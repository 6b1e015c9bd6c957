import type { Actor, ProviderTest } from '@acp/contract';
import type { ProviderRow } from '@acp/core';
import type { Services } from '../../http/services.ts';

/** Has a scheduler request the provider's models. Used by the API and the provider's page. */
export async function testProvider(
  services: Services,
  actor: Actor,
  { id: provider_id, company_id }: Pick<ProviderRow, 'id' | 'company_id'>,
): Promise<ProviderTest> {
  return services.command('test-provider', { provider_id }, { actor, company_id });
}
