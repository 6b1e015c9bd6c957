/** Money: prices, spending and the policies that limit it (decisions 3, Budgets and costs). */
import { Type, type Static } from 'typebox';
import { Nullable, OneOf, Patch, Timestamp, Uuid } from './schema-kit.ts';

const Rate = Type.Number({ minimum: 0, maximum: 1_000_000 });

export const ModelRates = Type.Object({
  InputPer1K: Rate,
  OutputPer1K: Rate,
  CachedPer1K: Type.Optional(Rate),
});
export type ModelRates = Static<typeof ModelRates>;

/** USD per 1,000 tokens, by model: the format of the pricing file. */
export const Pricing = Type.Record(Type.String(), ModelRates);
export type Pricing = Static<typeof Pricing>;

/** In USD per million tokens, as vendors quote them. */
const price = { input_usd: Rate, output_usd: Rate };

/** A price that a company has set for a model. The operator's pricing file takes precedence. */
export const ModelPrice = Type.Object({
  id: Uuid,
  company_id: Uuid,
  model: Type.String(),
  ...price,
  /** Null: cached tokens cost the same as other input. */
  cached_usd: Nullable(Rate),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type ModelPrice = Static<typeof ModelPrice>;

/** USD; numeric with eight decimals in the database. */
const Money = Type.Number({ minimum: 0, maximum: 1_000_000_000 });

export const budgetScopes = ['company', 'project', 'agent'] as const;
/** In UTC; weeks begin on Monday (decisions 8.4). */
export const budgetWindows = ['day', 'week', 'month', 'lifetime'] as const;
export const budgetActions = ['notify', 'pause'] as const;

export const BudgetPolicy = Type.Object({
  id: Uuid,
  company_id: Uuid,
  scope_type: OneOf(budgetScopes),
  scope_id: Uuid,
  window: OneOf(budgetWindows),
  limit_usd: Type.Number(),
  warn_percent: Type.Integer(),
  action: OneOf(budgetActions),
  enabled: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type BudgetPolicy = Static<typeof BudgetPolicy>;

const changeable = {
  window: OneOf(budgetWindows),
  limit_usd: Money,
  warn_percent: Type.Integer({ minimum: 1, maximum: 100 }),
  action: OneOf(budgetActions),
  enabled: Type.Boolean(),
};

export const CreateBudgetPolicy = Type.Object({
  scope_type: OneOf(budgetScopes),
  /** Optional if the scope is the company itself. */
  scope_id: Type.Optional(Uuid),
  window: changeable.window,
  limit_usd: changeable.limit_usd,
  warn_percent: Type.Optional(changeable.warn_percent),
  action: Type.Optional(changeable.action),
  enabled: Type.Optional(changeable.enabled),
});
export type CreateBudgetPolicy = Static<typeof CreateBudgetPolicy>;

export const UpdateBudgetPolicy = Patch(changeable);
export type UpdateBudgetPolicy = Static<typeof UpdateBudgetPolicy>;

export const budgetIncidentStatuses = ['open', 'resolved'] as const;

export const BudgetIncident = Type.Object({
  id: Uuid,
  company_id: Uuid,
  policy_id: Uuid,
  kind: OneOf(['warning', 'breach']),
  status: OneOf(budgetIncidentStatuses),
  spent_usd: Type.Number(),
  limit_usd: Type.Number(),
  window_start: Timestamp,
  opened_at: Timestamp,
  resolved_at: Nullable(Timestamp),
  resolved_by_user_id: Nullable(Uuid),
  /** Resolved without raising the limit. */
  waived: Type.Boolean(),
  note: Nullable(Type.String()),
});
export type BudgetIncident = Static<typeof BudgetIncident>;

export const ResolveBudgetIncident = Patch({
  limit_usd: Money,
  note: Nullable(Type.String({ maxLength: 10_000, pattern: '^[^\\u0000]*$' })),
});
export type ResolveBudgetIncident = Static<typeof ResolveBudgetIncident>;

export const CostEvent = Type.Object({
  id: Uuid,
  company_id: Uuid,
  agent_id: Nullable(Uuid),
  run_id: Nullable(Uuid),
  issue_id: Nullable(Uuid),
  project_id: Nullable(Uuid),
  provider: Type.String(),
  model: Type.String(),
  input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  cached_tokens: Type.Integer(),
  cost_usd: Type.Number(),
  /** No price was set for the model, so the built-in one was used. */
  price_estimated: Type.Boolean(),
  occurred_at: Timestamp,
});
export type CostEvent = Static<typeof CostEvent>;

const Label = Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\u0000]*$' });
const Tokens = Type.Integer({ minimum: 0, maximum: 2_000_000_000 });

export const SetModelPrice = Type.Object({
  /** As named by runs. */
  model: Label,
  ...price,
  cached_usd: Type.Optional(Nullable(Rate)),
});
export type SetModelPrice = Static<typeof SetModelPrice>;

/** Spending outside of the service's own runs. */
export const CreateCostEvent = Type.Object({
  agent_id: Type.Optional(Nullable(Uuid)),
  issue_id: Type.Optional(Nullable(Uuid)),
  project_id: Type.Optional(Nullable(Uuid)),
  provider: Label,
  model: Label,
  input_tokens: Type.Optional(Tokens),
  output_tokens: Type.Optional(Tokens),
  cached_tokens: Type.Optional(Tokens),
  cost_usd: Money,
  /** At most 90 days ago; defaults to now (decisions 10.4). */
  occurred_at: Type.Optional(Nullable(Timestamp)),
});
export type CreateCostEvent = Static<typeof CreateCostEvent>;

const costGroups = ['agent', 'project', 'model', 'day'] as const;

export const CostSummaryQuery = Type.Object({
  from: Type.Optional(Type.String({ maxLength: 40 })),
  to: Type.Optional(Type.String({ maxLength: 40 })),
  group_by: Type.Optional(OneOf(costGroups)),
});
export type CostSummaryQuery = Static<typeof CostSummaryQuery>;

export const CostSummary = Type.Object({
  total_usd: Type.Number(),
  groups: Type.Array(
    Type.Object({
      /** Id, model or day; null for spending that belongs to no agent or project. */
      key: Nullable(Type.String()),
      label: Nullable(Type.String()),
      cost_usd: Type.Number(),
      /** The part that was calculated with the built-in price because the model has none. */
      estimated_usd: Type.Number(),
      input_tokens: Type.Integer(),
      output_tokens: Type.Integer(),
      runs: Type.Integer(),
    }),
  ),
});
export type CostSummary = Static<typeof CostSummary>;
