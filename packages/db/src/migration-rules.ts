/**
 * What a migration may do while the previous release still serves traffic (docs/operating.md, Upgrades). A purely textual
 * check that errs on the side of refusing: a line `-- allowed: <reason>` directly above a statement lets it pass.
 */
interface Rule {
  forbids: RegExp;
  /** Does not apply to tables that the same migration creates: no one uses those yet. */
  of_old_tables?: boolean;
  instead: string;
}

const NAME = String.raw`(?:only\s+)?(?:if\s+exists\s+)?(?:"?public"?\.)?"?(\w+)"?`;
const alter = (rest: string): RegExp =>
  new RegExp(String.raw`^alter\s+table\s+${NAME}\s[^;]*?\b${rest}`, 'i');

const rules: readonly Rule[] = [
  {
    forbids: /^drop\s+table\b/i,
    instead: 'stop using the table in one release and drop it in a later one',
  },
  { forbids: /^truncate\b/i, instead: 'delete in batches, from a timer' },
  {
    forbids: /^(?:vacuum\s+full|cluster|reindex(?!.*concurrently)|lock\s+table)\b/i,
    instead: 'nothing: it stops everybody',
  },
  {
    forbids: alter(String.raw`drop\s+column\b`),
    of_old_tables: true,
    instead: 'stop using the column in one release and drop it in a later one',
  },
  {
    forbids: alter(String.raw`rename\b`),
    of_old_tables: true,
    instead: 'add the new name, write both for a release, then take the old one away',
  },
  {
    forbids: alter(String.raw`alter\s+column\s+"?\w+"?\s+(?:set\s+data\s+)?type\b`),
    of_old_tables: true,
    instead: 'add a column of the new type: this one writes the whole table anew',
  },
  {
    forbids: alter(String.raw`set\s+not\s+null\b`),
    of_old_tables: true,
    instead: 'add a check `not valid`, and validate it in a later migration',
  },
  {
    forbids: alter(String.raw`add\s+column\s(?=[^;]*\bnot\s+null\b)(?![^;]*\b(?:default|generated)\b)`),
    of_old_tables: true,
    instead: 'give the column a default: the release before does not write it',
  },
  {
    forbids: alter(String.raw`add\s+column\s[^;]*\bdefault\s+(?:gen_random_uuid|clock_timestamp|random)\b`),
    of_old_tables: true,
    instead: 'add the column empty, and fill it in batches: such a default writes the whole table anew',
  },
  {
    forbids: alter(
      String.raw`add\s+constraint\s(?=[^;]*\b(?:foreign\s+key|check)\b)(?![^;]*\bnot\s+valid\b)`,
    ),
    of_old_tables: true,
    instead: 'add it `not valid`, and validate it in a later migration',
  },
  {
    forbids: alter(
      String.raw`add\s+constraint\s(?=[^;]*\b(?:unique|primary\s+key)\b)(?![^;]*\busing\s+index\b)`,
    ),
    of_old_tables: true,
    instead: 'create the unique index concurrently first, and add the constraint `using index`',
  },
  {
    forbids: new RegExp(
      String.raw`^create\s+(?:unique\s+)?index\s+(?!concurrently)[^;]*?\son\s+${NAME}`,
      'i',
    ),
    of_old_tables: true,
    instead: '`create index concurrently if not exists`, in a migration with nothing else',
  },
  {
    forbids: /^(?:create|drop)\s+(?:unique\s+)?index\s+concurrently\s+(?!if\s)/i,
    instead: '`if not exists` or `if exists`: cut off, it runs again',
  },
];

/** Everything wrong with a migration, in words; empty when nothing is. */
export function faultsOfMigration(text: string): string[] {
  const statements = text
    .split('--> statement-breakpoint')
    .flatMap((part) => split(part))
    .filter(({ body }) => body !== '');
  const made = new Set(
    statements.flatMap(
      ({ body }) => /^create\s+table\s+(?:if\s+not\s+exists\s+)?"?(\w+)"?/i.exec(body)?.[1] ?? [],
    ),
  );
  const faults = statements.flatMap(({ body, allowed }) =>
    allowed
      ? []
      : rules.flatMap((rule) =>
          breaks(rule, body, made) ? [`${body.slice(0, 90)} … do instead: ${rule.instead}`] : [],
        ),
  );
  const concurrent = statements.filter(({ body }) => /\bindex\s+concurrently\b/i.test(body)).length;
  if (concurrent > 0 && concurrent < statements.length)
    faults.push('`concurrently` runs without a transaction: give it a migration of its own');
  return faults;
}

function breaks({ forbids, of_old_tables }: Rule, body: string, made: ReadonlySet<string>): boolean {
  const found = forbids.exec(body);
  return found !== null && !(of_old_tables === true && made.has(found[1] ?? ''));
}

/** Statements without their comments; the body of a function is not run here. */
function split(part: string): { body: string; allowed: boolean }[] {
  const isFunction = /create\s+(?:or\s+replace\s+)?(?:function|procedure)\b/i.test(part);
  const text = isFunction ? part.replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''") : part;
  // A `do` block does run, so its body is checked statement by statement.
  const ends = /^\s*(?:--.*\n\s*)*do\s/i.test(text) ? /;|\bbegin\b|\bthen\b|\belse\b|\bloop\b/i : ';';
  return text.split(ends).map((each) => ({
    allowed: /^\s*--\s*allowed:\s*\S/m.test(each),
    body: each.replaceAll(/--.*$/gm, ' ').replaceAll(/\s+/g, ' ').trim(),
  }));
}
