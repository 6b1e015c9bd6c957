import { cutText, dollars, said, type Said } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { KEY_WARNING_DAYS } from '../companies/index.ts';
import { readOnlyInstance, runsPausedHere } from '../settings/index.ts';
import { type ConditionQuery, MOST_OF_A_COMPANY, MOST_OF_COMPANIES } from './condition.ts';

/** A run whose lease expired that long ago can't be ended by the usual recovery. */
const LAPSED_SEC = 120;
/** Maximum silence of a run in progress. */
const SILENT_MINUTES = 60;
/** Maximum wait of a run while nothing of its company runs. */
const WAITING_MINUTES = 15;
/** Period of finished runs to check, and number of failures without a success that count as an outage. */
const OUTAGE_MINUTES = 15;
const OUTAGE_FAILURES = 3;
/** Webhooks that stay disabled for that long are no longer reported. */
const OFF_DAYS = 7;
const TEXT_BYTES = 300;

type Place = {
  company_id: string;
  company: string;
};

/** A window's length. */
const windows: Readonly<Record<string, Said>> = {
  day: said`a day`,
  week: said`a week`,
  month: said`a month`,
  lifetime: said`in total`,
};

function budgetOf(scope_type: string, name: string | null): Said {
  if (scope_type === 'company') return said`the company’s budget`;
  return scope_type === 'agent'
    ? said`the budget of agent ${name ?? '?'}`
    : said`the budget of project ${name ?? '?'}`;
}

const budgets: ConditionQuery = {
  rows: () => sql`
    select i.id, i.company_id, c.name as company, i.kind, p.scope_type, p."window",
      case p.scope_type when 'agent' then (select a.name from agents a where a.id = p.scope_id)
        when 'project' then (select x.name from projects x where x.id = p.scope_id) end as scope_name,
      coalesce(w.spent_usd, i.spent_usd)::float8 as spent, i.limit_usd::float8 as most
    from (
      select *, row_number() over (partition by company_id order by opened_at, id) as place from budget_incidents where status = 'open'
    ) i join budget_policies p on p.id = i.policy_id
    join companies c on c.id = i.company_id and c.deleted_at is null
    left join budget_windows w on w.policy_id = i.policy_id and w.window_start = i.window_start
    where i.place <= ${MOST_OF_A_COMPANY} order by i.opened_at, i.id limit ${MOST_OF_COMPANIES}`,
  condition: ({ id, company_id, company, kind, ...budget }: Place & BudgetRow) => {
    const whose = budgetOf(budget.scope_type, budget.scope_name);
    const [spent, most] = [dollars(budget.spent), dollars(budget.most)];
    const window = windows[budget.window]!;
    return {
      kind: 'budget',
      key: id,
      level: kind === 'breach' ? 'error' : 'warning',
      message:
        kind === 'breach'
          ? said`${company}: ${whose} is used up: ${spent} of ${most} ${window}`
          : said`${company}: ${whose} is nearly used up: ${spent} of ${most} ${window}`,
      company_id,
      entity_type: 'budget_incident',
      entity_id: id,
      already_notified: true,
    };
  },
};

interface BudgetRow {
  id: string;
  kind: string;
  scope_type: string;
  /** Null for the company, and for what was deleted for good. */
  scope_name: string | null;
  window: string;
  /** By now, in the window of the incident. */
  spent: number;
  most: number;
}

/** Whether no runs may start, because of a pause or an expired license: waiting ones are then not stuck. */
const heldByOrder = sql`(${readOnlyInstance} or ${runsPausedHere})`;

const stuckRuns: ConditionQuery = {
  rows: () => sql`
    with stuck as (
      select company_id, 'lapsed' as how from heartbeat_runs
      where status = 'running' and lease_expires_at < now() - make_interval(secs => ${LAPSED_SEC})
      union all
      select r.company_id, 'silent' from heartbeat_runs r
      where r.status = 'running' and r.lease_expires_at >= now()
        and r.started_at < now() - make_interval(mins => ${SILENT_MINUTES})
        and coalesce((select e.created_at from run_events e where e.run_id = r.id and e.part = r.transcript_part order by e.seq desc limit 1),
          r.started_at) < now() - make_interval(mins => ${SILENT_MINUTES})
      union all
      select r.company_id, 'waiting' from heartbeat_runs r
      where not ${heldByOrder} and r.status = 'queued' and r.created_at < now() - make_interval(mins => ${WAITING_MINUTES})
        and not exists (select from heartbeat_runs o where o.company_id = r.company_id and o.status = 'running')
    )
    select s.company_id, c.name as company, count(*) filter (where how = 'lapsed')::int as lapsed,
      count(*) filter (where how = 'silent')::int as silent, count(*) filter (where how = 'waiting')::int as waiting
    from stuck s join companies c on c.id = s.company_id and c.deleted_at is null
    group by s.company_id, c.name order by s.company_id limit ${MOST_OF_COMPANIES}`,
  condition: ({
    company_id,
    company,
    lapsed,
    silent,
    waiting,
  }: Place & { lapsed: number; silent: number; waiting: number }) => {
    const parts = [
      ...(lapsed > 0 ? [said`${lapsed} lost their scheduler and could not be ended`] : []),
      ...(silent > 0 ? [said`${silent} have not reported for an hour`] : []),
      ...(waiting > 0 ? [said`${waiting} wait while nothing runs`] : []),
    ];
    const message = said`${company}: runs are stuck: ${parts.reduce((all, part) => said`${all}, ${part}`)}`;
    return { kind: 'stuck_runs', key: company_id, level: 'error', message, company_id };
  },
};

/** Providers whose recent runs include no success and several failures caused by the provider. */
const outages: ConditionQuery = {
  rows: () => sql`
    select r.provider_id, p.name as provider, p.company_id, c.name as company, max(r.error) as error,
      count(*) filter (where r.status = 'failed')::int as failures
    from heartbeat_runs r left join providers p on p.id = r.provider_id
    left join companies c on c.id = p.company_id
    where r.finished_at > now() - make_interval(mins => ${OUTAGE_MINUTES}) and r.finished_at is not null
      and r.adapter_type = 'llm' and c.deleted_at is null and (r.provider_id is null or p.id is not null)
      and (r.status = 'succeeded' or r.error_category in ('auth', 'quota', 'transient', 'timeout'))
    group by r.provider_id, p.name, p.company_id, c.name
    having count(*) filter (where r.status = 'succeeded') = 0
      and count(*) filter (where r.status = 'failed') >= ${OUTAGE_FAILURES}
    order by r.provider_id nulls first limit ${MOST_OF_COMPANIES}`,
  condition: ({
    provider_id,
    provider,
    company_id,
    company,
    error,
    failures,
  }: {
    provider_id: string | null;
    provider: string | null;
    error: string | null;
    failures: number;
    company_id: string | null;
    company: string | null;
  }) => {
    const failed =
      provider === null
        ? said`The default model endpoint failed ${failures} runs in a row`
        : said`${company ?? ''}: the provider ${provider} failed ${failures} runs in a row`;
    // Errors of a company's provider belong to the company; those of the instance's own may quote any company's run.
    const message =
      company_id === null || error === null ? failed : said`${failed}: ${cutText(error, TEXT_BYTES)}`;
    return {
      kind: 'provider_outage',
      key: provider_id ?? 'default',
      level: 'error',
      message,
      company_id,
      ...(provider_id === null ? {} : { entity_type: 'provider', entity_id: provider_id }),
    };
  },
};

const webhooksOff: ConditionQuery = {
  rows: () => sql`
    select w.id, w.company_id, c.name as company, w.url, w.disabled_reason as reason
    from (
      select *, row_number() over (partition by company_id order by updated_at, id) as place from webhooks
      where not enabled and disabled_reason is not null and issue_id is null
        and updated_at > now() - make_interval(days => ${OFF_DAYS})
    ) w join companies c on c.id = w.company_id and c.deleted_at is null
    where w.place <= ${MOST_OF_A_COMPANY} order by w.updated_at, w.id limit ${MOST_OF_COMPANIES}`,
  condition: ({
    id,
    company_id,
    company,
    url,
    reason,
  }: Place & { id: string; url: string; reason: string }) => ({
    kind: 'webhook_off',
    key: id,
    level: 'warning',
    message: said`${company}: the webhook to ${new URL(url).host} was switched off: ${reason}`,
    company_id,
    entity_type: 'webhook',
    entity_id: id,
    already_notified: true,
  }),
};

/** Keys that were made for a short time end as expected: nobody has to be told. */
const endsSoon = sql`k.expires_at > now() and k.expires_at < now() + make_interval(days => ${KEY_WARNING_DAYS})
  and k.expires_at - k.created_at > make_interval(days => ${KEY_WARNING_DAYS})`;

const keysExpiring: ConditionQuery = {
  rows: () => sql`
    select k.id, k.company_id, c.name as company, k.entity_type, coalesce(k.label, k.key_prefix) as label, k.key_prefix,
      to_char(k.expires_at at time zone 'UTC', 'YYYY-MM-DD') as ends
    from (select *, row_number() over (partition by company_id order by expires_at, id) as place from (
      select k.id, k.company_id, 'board_user_key' as entity_type, k.label, k.key_prefix, k.expires_at
      from board_user_keys k where ${endsSoon}
      union all
      select k.id, k.company_id, 'agent_key', k.label, k.key_prefix, k.expires_at
      from agent_api_keys k join agents a on a.id = k.agent_id and a.deleted_at is null where ${endsSoon}
    ) each) k join companies c on c.id = k.company_id and c.deleted_at is null
    where k.place <= ${MOST_OF_A_COMPANY} order by k.expires_at, k.id limit ${MOST_OF_COMPANIES}`,
  condition: ({
    id,
    company_id,
    company,
    entity_type,
    label,
    key_prefix,
    ends,
  }: Place & { id: string; entity_type: string; label: string; key_prefix: string; ends: string }) => ({
    kind: 'key_expiring',
    key: id,
    level: 'warning',
    message: said`${company}: the key ${label} (${key_prefix}…) ends on ${ends}`,
    company_id,
    entity_type,
    entity_id: id,
    already_notified: true,
  }),
};

/** Conditions shown to the admins of a company and to the operator. */
export const companyConditions: readonly ConditionQuery[] = [
  budgets,
  stuckRuns,
  outages,
  webhooksOff,
  keysExpiring,
];
