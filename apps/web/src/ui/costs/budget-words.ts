/** Texts for budgets and their incidents. */
import type { BudgetIncident, BudgetPolicy } from '@acp/contract';
import type { BudgetUsage } from '@acp/core';
import { money, timeLeft, usd } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { say, t, texts } from '../kit/language.ts';
import { status } from '../kit/parts.ts';
import { limitMeter } from './figures.ts';

export const windowNames: Record<BudgetPolicy['window'], string> = texts({
  day: 'a day',
  week: 'a week',
  month: 'a month',
  lifetime: 'in total',
});

export const actionNames: Record<BudgetPolicy['action'], string> = texts({
  pause: 'stops what it covers',
  notify: 'notifies the admins',
});

const kinds: Record<BudgetPolicy['scope_type'], string> = texts({
  company: 'the company',
  project: 'project',
  agent: 'agent',
});

export function scopeOf({ policy, scope_name }: BudgetUsage): string {
  return scope_name ?? t`${kinds[policy.scope_type]} (deleted)`;
}

/** `Ada, a month`. */
export function budgetName(usage: BudgetUsage): string {
  return `${scopeOf(usage)}, ${windowNames[usage.policy.window]}`;
}

export const scopeKind = ({ policy }: BudgetUsage): string => kinds[policy.scope_type];

function levelOf({ policy, spent_usd, waived }: BudgetUsage): string {
  const { enabled, limit_usd, warn_percent } = policy;
  if (!enabled) return 'off';
  if (spent_usd >= limit_usd) return waived ? 'waived' : 'used_up';
  return spent_usd >= (limit_usd * warn_percent) / 100 ? 'nearly_used_up' : 'within_limit';
}

/** The meter with its figures; only the limit for a disabled budget. */
export function usagePart(usage: BudgetUsage): Html {
  const { policy, spent_usd, reserved_usd } = usage;
  const { limit_usd, enabled, warn_percent } = policy;
  if (!enabled) return html`<span class="soft">not counted; limit !${money(limit_usd)}</span>`;
  const share = (amount: number): number => (limit_usd > 0 ? (amount / limit_usd) * 100 : 100);
  const label = t`${usd(spent_usd)} of ${usd(limit_usd)} spent`;
  const spent = share(spent_usd);
  const meter = { label, spent, reserved: share(reserved_usd), warn: warn_percent, level: levelOf(usage) };
  return html`<span class="usage"
    >!${limitMeter(meter)}<span>!${money(spent_usd)} <span class="soft">of</span> !${money(limit_usd)}</span
    >!${when(reserved_usd, (held) => html`<span class="soft small">!${money(held)} more under way</span>`)}</span
  >`;
}

export const usageState = (usage: BudgetUsage): Html => status(levelOf(usage));

/** When a budget's window resets. */
export function windowPart({ policy, window_end }: BudgetUsage): Html {
  const left = when(window_end, (end) => html` <span class="soft small number">!${timeLeft(end)}</span>`);
  return html`${windowNames[policy.window]}!${left}`;
}

/** `Used up: Ada, a month`. */
export function incidentTitle({ kind }: Pick<BudgetIncident, 'kind'>, usage: BudgetUsage): string {
  return `${kind === 'breach' ? t`Used up` : t`Nearly used up`}: ${budgetName(usage)}`;
}

/** The outcome of a resolved incident. */
export function outcomePart(incident: BudgetIncident, by: string | null): Html {
  const { waived, note, resolved_by_user_id } = incident;
  const how = waived ? t`waived` : t`ended`;
  const who = resolved_by_user_id === null ? '' : t` by ${by ?? t`somebody`}`;
  return html`<span class="prose">${how}${who}${note === null ? '' : `: ${say(note)}`}</span>`;
}
