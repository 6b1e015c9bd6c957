/** Whether a provider can be used now, as far as is known: a test says so only to who asked for it. */
import type { Provider } from '@acp/contract';
import { t } from '../kit/language.ts';
import type { Choice } from '../kit/parts.ts';

const states = ['ready', 'paused', 'disabled'] as const;
type ProviderState = (typeof states)[number];

export function stateOf({ enabled, paused_until }: Provider): ProviderState {
  if (!enabled) return 'disabled';
  return paused_until !== null && new Date(paused_until).getTime() > Date.now() ? 'paused' : 'ready';
}

/** Those that can be used come first; the others say that they can't. */
export function providerChoices(providers: readonly Provider[]): Choice[] {
  const label = ({ name }: Provider, state: ProviderState): string =>
    ({ ready: name, paused: t`${name}, paused`, disabled: t`${name}, disabled` })[state];
  return providers
    .map((provider) => ({ provider, state: stateOf(provider) }))
    .toSorted((a, b) => states.indexOf(a.state) - states.indexOf(b.state))
    .map(({ provider, state }) => ({ value: provider.id, label: label(provider, state) }));
}
