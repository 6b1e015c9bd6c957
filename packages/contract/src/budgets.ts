/** Money: the operator's pricing file (specification, Providers; decisions 7.37). */
import { Type, type Static } from 'typebox';

const Rate = Type.Number({ minimum: 0, maximum: 1_000_000 });

export const ModelRates = Type.Object({
  InputPer1K: Rate,
  OutputPer1K: Rate,
  CachedPer1K: Type.Optional(Rate),
});
export type ModelRates = Static<typeof ModelRates>;

/** USD per 1,000 tokens by model. Models that it does not name cost the built-in default. */
export const Pricing = Type.Record(Type.String(), ModelRates);
export type Pricing = Static<typeof Pricing>;
