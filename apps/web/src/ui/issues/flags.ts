import { type Issue, terminalStatuses } from '@acp/contract';
import { t } from '../kit/language.ts';

/** Whether its last run failed, and it is still to be done. */
export const hasFailed = ({ run_failed, status }: Pick<Issue, 'run_failed' | 'status'>): boolean =>
  run_failed && !terminalStatuses.includes(status);

/** Parts of an issue's state that should be visible at a glance. */
export const flagsOf = (
  issue: Pick<
    Issue,
    | 'checked_out_by_agent_id'
    | 'needs_human_attention'
    | 'awaiting_input'
    | 'needs_routing'
    | 'run_failed'
    | 'status'
  >,
): string[] =>
  [
    issue.checked_out_by_agent_id ? 'working' : '',
    hasFailed(issue) ? t`run failed` : '',
    issue.needs_human_attention ? t`needs a person` : '',
    issue.awaiting_input ? t`awaits input` : '',
    issue.needs_routing ? t`needs routing` : '',
  ].filter((flag) => flag !== '');
