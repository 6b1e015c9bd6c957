/**
 * Models that a worker shares (specification, Remote workers): `llm` tasks go to workers that offer the task's provider and
 * model. In an environment variable it is `provider:model,model-glob;provider:…`, in JSON a list of objects.
 */
import { Type, type Static } from 'typebox';
import { invalid } from '@acp/kernel';

const word = { minLength: 1, maxLength: 200, pattern: '^[^\\u0000-\\u001f\\u007f]+$' } as const;

export const SharedModel = Type.Object({
  /** As named in a task's `adapter_config.provider`. */
  provider: Type.String(word),
  /** `*` matches any characters, everything else is literal and case-sensitive. Empty: all models of the provider. */
  models: Type.Array(Type.String(word), { maxItems: 200 }),
});
export type SharedModel = Static<typeof SharedModel>;

const MAX_ENTRIES = 100;
export const SharedModelList = Type.Array(SharedModel, { maxItems: MAX_ENTRIES });

/** @throws invalid, naming the entry */
export function parseSharedModels(text: string): SharedModel[] {
  const entries = text
    .split(';')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  if (entries.length > MAX_ENTRIES) throw invalid(`shared models: more than ${MAX_ENTRIES} entries`);
  return entries.map((entry) => {
    const colon = entry.indexOf(':');
    const provider = entry.slice(0, Math.max(colon, 0)).trim();
    const models = entry
      .slice(colon + 1)
      .split(',')
      .map((model) => model.trim())
      .filter((model) => model !== '');
    if (colon < 0 || provider === '' || models.length === 0)
      throw invalid(`shared models: "${entry.slice(0, 100)}" is not provider:model,model`);
    return { provider, models };
  });
}

/** What an `llm` task requires. Absent values restrict nothing. */
export interface WantedModel {
  /** Names under which workers may share the provider. Empty: any. */
  readonly providers: readonly string[];
  readonly model: string | null;
}

/** An empty list of shared models means all models. */
export function sharesModel(shared: readonly SharedModel[], { providers, model }: WantedModel): boolean {
  if (shared.length === 0) return true;
  return shared.some(
    (entry) =>
      (providers.length === 0 || providers.includes(entry.provider)) &&
      (model === null || entry.models.length === 0 || entry.models.some((glob) => matchesGlob(glob, model))),
  );
}

/** Without backtracking: the pieces of the glob must occur in order, anchored at both ends. */
export function matchesGlob(glob: string, text: string): boolean {
  const [first = '', ...rest] = glob.split('*');
  if (rest.length === 0) return glob === text;
  const last = rest.pop() ?? '';
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
