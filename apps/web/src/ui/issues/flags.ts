import type { Issue } from '@acp/contract';
import { t } from '../kit/language.ts';

/** Parts of an issue's state that should be visible at a glance. */
export const flagsOf = (
  issue: Pick<
    Issue,
    'checked_out_by_agent_id' | 'needs_human_attention' | 'awaiting_input' | 'needs_routing'
  >,
): string[] =>
  [
    issue.checked_out_by_agent_id ? 'working' : '',
    issue.needs_human_attention ? t`needs a person` : '',
    issue.awaiting_input ? t`awaits input` : '',
    issue.needs_routing ? t`needs routing` : '',
  ].filter((flag) => flag !== '');
