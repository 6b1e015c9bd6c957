import { type InstallKind, permits } from '@acp/contract';
import { hasFrontMatter, readYaml, requestInstallApproval } from '@acp/core';
import { isUuid } from '@acp/kernel';
import { inline } from '@acp/adapters';
import { installs as table } from '../../installs/installs.ts';
import { agentOf, words } from '../resolve.ts';
import type { Verb, VerbContext, VerbGroup } from '../verb.ts';

type Fields = Record<string, unknown>;

/** Fields that refer to an agent: its name may be given instead of its id. */
const agentFields: Partial<Record<InstallKind, readonly string[]>> = {
  agent: ['reports_to'],
  routine: ['assignee_agent_id'],
};

const ofText = { body: 'body_markdown', content: 'body_markdown', text: 'body_markdown' } as const;
/** Names that models give to fields instead of ours. */
const otherNames: Partial<Record<InstallKind, Readonly<Record<string, string>>>> = {
  agent: { prompt: 'system_prompt', manager: 'reports_to' },
  memory: ofText,
  note: ofText,
  routine: { assignee: 'assignee_agent_id', cron: 'cron_expression', schedule: 'cron_expression' },
};

/** Creates the resource from the body; if the permission is missing, requests an approval instead (decisions 5). */
function install(kind: InstallKind): Verb {
  const { permission, admins_only, fields, read } = table[kind];
  return {
    commit: async (context) => {
      const { tx, run, action } = context;
      words(context);
      const text = action.body ?? '';
      const body =
        kind === 'skill' && hasFrontMatter(text)
          ? text
          : await withIds(context, kind, renamed(kind, readYaml(text, 'the body')));
      const make = read(body);
      // The instructions of such an agent are for an admin to decide.
      const forAdmins =
        admins_only === true || (kind === 'skill' && permits(run.actor.permissions, 'secrets.use'));
      if (forAdmins || !permits(run.actor.permissions, permission)) {
        const { company_id, issue_id } = run;
        const { title } = await requestInstallApproval(tx, run.actor, { company_id, issue_id, kind, body });
        return { text: `a human is asked to approve: ${inline(title, 200)}`, changed: true };
      }
      const name = await make(tx, run.actor, run);
      const unknown =
        typeof body === 'string' ? [] : Object.keys(body).filter((key) => !fields.includes(key));
      const notice = unknown.length === 0 ? '' : `; not understood: ${inline(unknown.join(', '), 200)}`;
      return { text: `${kind} ${inline(name, 100)} installed${notice}`, changed: true };
    },
  };
}

/** What is given by both names keeps our own. */
function renamed(kind: InstallKind, body: Fields): Fields {
  const names = otherNames[kind] ?? {};
  const own = (key: string) =>
    Object.hasOwn(names, key) && body[names[key]!] === undefined ? names[key]! : key;
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [own(key), value]));
}

async function withIds(context: VerbContext, kind: InstallKind, body: Fields): Promise<Fields> {
  const fields = { ...body };
  // Shown in capitals in many a title: `role: QA`.
  if (kind === 'agent' && typeof fields.role === 'string') fields.role = fields.role.toLowerCase();
  for (const key of agentFields[kind] ?? []) {
    const name = fields[key];
    if (typeof name === 'string' && !isUuid(name)) fields[key] = (await agentOf(context, name)).id;
  }
  return fields;
}

export const installs: VerbGroup = {
  'install-memory': install('memory'),
  'install-note': install('note'),
  'install-skill': install('skill'),
  'install-routine': install('routine'),
  'install-agent': install('agent'),
  'install-federation': install('federation'),
};
