import { CreateApproval, createValidator } from '@acp/contract';
import { requestApproval } from '@acp/core';
import { invalid } from '@acp/kernel';
import { inline } from '@acp/adapters';
import { textOf } from '../resolve.ts';
import type { VerbContext, VerbGroup, VerbOutcome } from '../verb.ts';

const validRequest = createValidator(CreateApproval, 'the request');

/** Types whose approval creates something, and so are requested by a verb that takes all its fields. */
const instead: Readonly<Record<string, string>> = {
  hire_agent: '/install-agent',
  install: 'the /install-… verb of its kind',
};

async function commit(context: VerbContext): Promise<VerbOutcome> {
  const { tx, run, action } = context;
  const [type = ''] = action.text.split(/\s+/, 1);
  const kind = type.toLowerCase().replaceAll('-', '_');
  if (Object.hasOwn(instead, kind)) throw invalid(`use ${instead[kind]}: it asks for approval where needed`);
  const text = action.text.slice(type.length).trim();
  const input = validRequest({
    type: kind,
    title: textOf({ action: { ...action, text } }, 'a title'),
    description: action.body,
    issue_id: run.issue_id,
  });
  const { approval, asked_before } = await requestApproval(tx, run.actor, run.company_id, input);
  const title = inline(approval.title, 100);
  return {
    text: asked_before ? `${title} waits for a human already` : `a human is asked to approve: ${title}`,
    changed: !asked_before,
  };
}

export const requests: VerbGroup = { 'request-approval': { permission: 'approvals.request', commit } };
