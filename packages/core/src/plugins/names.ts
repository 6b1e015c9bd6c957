/**
 * Which plugin has a name, where several of a company have the same: the one that registered it first, as long as that runs or
 * should run. The order is stored with each plugin, so that neither a restart nor a later manifest gets ahead of another.
 */
import type { CheckedManifest } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { and, eq, or } from 'drizzle-orm';
import { appendPluginLines, type PluginLine } from './log.ts';
import { manifestOf } from './manifest.ts';
import type { PluginRow } from './store.ts';

const { companies, plugins } = schema;

type Names = Readonly<Record<string, number>>;

/** As agents call it: names that are the same there are the same name. */
export const toolName = ({ namespace, name }: { namespace: string; name: string }): string =>
  `tool ${namespace}__${name}`;
export const webhookName = (path: string): string => `webhook ${path}`;

const namesOf = ({ tools, webhooks }: CheckedManifest): string[] => [
  ...tools.map(toolName),
  ...webhooks.map(({ path }) => webhookName(path)),
];

/** What runs since before the order was kept has no equals: its names count as the first. */
function placesOf(plugin: PluginRow): Names {
  const kept = plugin.names as Names;
  return { ...Object.fromEntries(namesOf(manifestOf(plugin)).map((name) => [name, 0])), ...kept };
}

/** Gives the names of the manifest their places. Serialised within the company until the end of the transaction. */
export async function placeNames(tx: Tx, plugin: PluginRow, manifest: CheckedManifest): Promise<Names> {
  await tx
    .select({ id: companies.id })
    .from(companies)
    .where(eq(companies.id, plugin.company_id))
    .for('no key update');
  const all = await tx.select().from(plugins).where(eq(plugins.company_id, plugin.company_id));
  const last = Math.max(0, ...all.flatMap((each) => Object.values(placesOf(each))));
  const kept = plugin.names as Names;
  return Object.fromEntries(namesOf(manifest).map((name) => [name, kept[name] ?? last + 1]));
}

/** Whether it runs, or will again after a crash or on another scheduler: then its names are its own. */
export const isHolding = ({ state, wanted }: PluginRow): boolean => state === 'running' || wanted;

/** The plugins that hold their names, oldest first. */
export async function registeredPlugins(tx: Tx, company_id: string): Promise<PluginRow[]> {
  return tx
    .select()
    .from(plugins)
    .where(and(eq(plugins.company_id, company_id), or(eq(plugins.state, 'running'), plugins.wanted)))
    .orderBy(plugins.created_at, plugins.id);
}

/** The holder of each name, from the plugins in the order of their creation. */
export function holdersOf(registered: readonly PluginRow[]): Map<string, PluginRow> {
  const holders = new Map<string, { plugin: PluginRow; place: number }>();
  for (const plugin of registered)
    for (const [name, place] of Object.entries(placesOf(plugin)))
      if (place < (holders.get(name)?.place ?? Infinity)) holders.set(name, { plugin, place });
  return new Map([...holders].map(([name, { plugin }]) => [name, plugin]));
}

/** Notes in the log of a plugin that has just registered which of its names others hold. */
export async function noteHeldByOthers(tx: Tx, plugin: PluginRow): Promise<void> {
  const holders = holdersOf(await registeredPlugins(tx, plugin.company_id));
  const held = Object.keys(placesOf(plugin)).flatMap((name) => {
    const holder = holders.get(name);
    return holder === undefined || holder.id === plugin.id ? [] : [{ name, holder }];
  });
  await appendPluginLines(
    tx,
    linesOf(held, (holder, names) => lost(plugin, holder, names)),
  );
}

/** Notes in the logs of the plugins whose names now count for this one, which is about to start, that they do. */
export async function noteTaken(tx: Tx, plugin: PluginRow): Promise<void> {
  const taken = await shared(tx, plugin, plugin.id);
  await appendPluginLines(
    tx,
    linesOf(taken, (other, names) => lost(other, plugin, names)),
  );
}

/** Notes in the logs of the plugins that now have names which this one gave up that they do. */
export async function noteReleased(tx: Tx, plugin: PluginRow): Promise<void> {
  const passed = await shared(tx, plugin, null);
  await appendPluginLines(
    tx,
    linesOf(passed, (other, names) => gained(other, plugin, names)),
  );
}

/** Names of running plugins that this one registered before them. @param holder who holds them; null: the other */
async function shared(tx: Tx, plugin: PluginRow, holder: string | null): Promise<Held[]> {
  const registered = await registeredPlugins(tx, plugin.company_id);
  const holders = holdersOf(registered);
  const earlier = placesOf(plugin);
  return registered
    .filter(({ id, state }) => id !== plugin.id && state === 'running')
    .flatMap((other) =>
      Object.entries(placesOf(other))
        .filter(
          ([name, place]) =>
            (earlier[name] ?? Infinity) < place && holders.get(name)?.id === (holder ?? other.id),
        )
        .map(([name]) => ({ name, holder: other })),
    );
}

interface Held {
  name: string;
  holder: PluginRow;
}

/** One line for all names that have the same holder. */
function linesOf(
  held: readonly Held[],
  line: (holder: PluginRow, names: string) => PluginLine,
): PluginLine[] {
  return [...Map.groupBy(held, ({ holder }) => holder)].map(([holder, names]) =>
    line(holder, names.map(({ name }) => name).join(', ')),
  );
}

const lost = ({ id }: PluginRow, { slug }: PluginRow, names: string): PluginLine => ({
  plugin_id: id,
  type: 'error',
  level: 'warn',
  message: `the plugin ${slug} has registered these names before and is called by them: ${names}`,
});

const gained = ({ id }: PluginRow, { slug }: PluginRow, names: string): PluginLine => ({
  plugin_id: id,
  type: 'log',
  level: 'info',
  message: `it is called by these names from now on, which the plugin ${slug} gave up: ${names}`,
});
