/**
 * Models that a worker shares (specification, Remote workers): `llm` tasks go to workers that have the task's provider and
 * model. Written `provider:model,model-glob;provider:…` in an environment, as objects in JSON.
 */
import { Type, type Static } from 'typebox';
import { invalid } from '@acp/kernel';

const word = { minLength: 1, maxLength: 200, pattern: '^[^\\u0000-\\u001f\\u007f]+$' } as const;

export const SharedModel = Type.Object({
  /** As tasks name it in their `adapter_config.provider`. */
  provider: Type.String(word),
  /** `*` stands for any characters, everything else for itself; letters in their case. */
  models: Type.Array(Type.String(word), { minItems: 1, maxItems: 200 }),
});
export type SharedModel = Static<typeof SharedModel>;

const MAX_ENTRIES = 100;
export const SharedModelList = Type.Array(SharedModel, { maxItems: MAX_ENTRIES });

/** @throws invalid, in words that name the entry */
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

/** What an `llm` task asks for. What it leaves open restricts nothing. */
export interface WantedModel {
  /** Names under which workers may share it. Empty: any. */
  readonly providers: readonly string[];
  readonly model: string | null;
}

/** An empty list of shared models means all. */
export function sharesModel(shared: readonly SharedModel[], { providers, model }: WantedModel): boolean {
  if (shared.length === 0) return true;
  return shared.some(
    (entry) =>
      (providers.length === 0 || providers.includes(entry.provider)) &&
      (model === null || entry.models.some((glob) => matchesGlob(glob, model))),
  );
}

/** Without backtracking: a glob is its pieces in order, the first at the beginning and the last at the end. */
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
