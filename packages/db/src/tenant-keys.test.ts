/**
 * What a company has could move to a database of its own (docs/scaling.md): each of its rows carries the company's id, or is part of
 * a row that does. Whoever adds a table that is neither says here, and there, what becomes of it then.
 */
import { describe, expect, it } from '@jest/globals';
import { PgTable, getTableConfig } from 'drizzle-orm/pg-core';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { schema } from '@acp/db';

/** Of the whole instance, and of its people: these stay in the directory. */
const ofInstance = [
  'alert_looks',
  'backups',
  'companies',
  'event_cursors',
  'event_sequence',
  'idempotency_keys',
  'instance_audit',
  'instance_flags',
  'instance_settings',
  'key_addresses',
  'login_failures',
  'oauth_flows',
  'outgoing_messages',
  'plugin_hosts',
  'scheduler_processes',
  'scheduler_ticks',
  'setup_tokens',
  'storage_orphans',
  'transcript_parts',
  'users',
  'workers',
];
/** Without a company their rows are the instance's. */
const ofEither = ['alerts', 'commands', 'events', 'outbox', 'security_events'];

interface Facts {
  name: string;
  company_id: 'always' | 'maybe' | 'never';
  /** Rows that it is deleted with. */
  parents: string[];
}

const tables: Facts[] = Object.values(schema)
  .filter((each) => each instanceof PgTable)
  .map((table) => {
    const { name, columns, foreignKeys } = getTableConfig(table);
    const key = columns.find((column) => column.name === 'company_id');
    return {
      name,
      company_id: key === undefined ? 'never' : key.notNull ? 'always' : 'maybe',
      parents: foreignKeys
        .filter(({ onDelete }) => onDelete === 'cascade')
        .map((each) => getTableConfig(each.reference().foreignTable).name),
    };
  });
const byName = new Map(tables.map((facts) => [facts.name, facts]));

function hangsFrom(name: string, isRoot: (facts: Facts) => boolean): boolean {
  const facts = byName.get(name);
  if (facts === undefined) return false;
  return isRoot(facts) || facts.parents.some((parent) => parent !== name && hangsFrom(parent, isRoot));
}

const isCompanys = ({ name }: Facts): boolean => hangsFrom(name, (facts) => facts.company_id === 'always');
const isPersons = ({ name }: Facts): boolean => hangsFrom(name, (facts) => facts.name === 'users');

describe('every table', () => {
  it('is a company’s by its key or by the row that it is part of, a person’s, or known to be the instance’s', () => {
    const known = new Set([...ofInstance, ...ofEither]);
    const strange = tables.filter(
      (facts) => !known.has(facts.name) && !isCompanys(facts) && !isPersons(facts),
    );
    expect(strange.map(({ name }) => name)).toEqual([]);
    const gone = [...known].filter((name) => !byName.has(name));
    expect(gone).toEqual([]);
    expect(ofEither.map((name) => byName.get(name)!.company_id)).toEqual(ofEither.map(() => 'maybe'));
  });

  it('that is the instance’s has its place on the page about many databases', () => {
    const page = readFileSync(path.resolve(import.meta.dirname, '../../../docs/scaling.md'), 'utf8');
    expect([...ofInstance, ...ofEither].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});
