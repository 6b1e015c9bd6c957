import { putUserModel, skillOf } from '@acp/core';
import { invalid, notFound } from '@acp/kernel';
import { inline, quoted } from '@acp/adapters';
import { issueOf, words } from '../resolve.ts';
import type { VerbContext, VerbGroup } from '../verb.ts';

/** In characters. */
const SKILL_SHOWN = 40_000;

/** In a private chat, its owner; otherwise the requester of the issue. */
async function requestOf(context: VerbContext): Promise<{ owner_id: string } | { issue_id: string }> {
  const { private_to_user_id: owner_id } = context.run.audience;
  return owner_id === null ? { issue_id: (await issueOf(context, undefined)).id } : { owner_id };
}

export const knowledge: VerbGroup = {
  'use-skill': {
    commit: async (context) => {
      const [slug = ''] = words(context);
      const skill = await skillOf(context.tx, context.run.agent_id, slug);
      if (skill === undefined) throw notFound(`you have no skill ${inline(slug, 100)}`);
      const { name, body_markdown } = skill;
      return { text: quoted('skill', body_markdown, SKILL_SHOWN, { name }), changed: false };
    },
  },
  'update-user-model': {
    permission: 'notes.write',
    commit: async (context) => {
      const { tx, run, action } = context;
      words(context);
      const text = action.body?.trim() ?? '';
      if (text === '') throw invalid('the text is empty');
      const asked = await requestOf(context);
      const { name, changed } = await putUserModel(tx, run.actor, asked, text);
      return { text: `what is known of ${inline(name, 100)} is written down`, changed };
    },
  },
};
