import { adapterTraits, createValidator, CreateWorkProduct } from '@acp/contract';
import { checkFilePath, createAttachments, createWorkProduct, findAgent, putAgentFile } from '@acp/core';
import { invalid, notFound } from '@acp/kernel';
import { inline } from '@acp/adapters';
import { issueOf, textOf, words } from '../resolve.ts';
import type { VerbContext, VerbFile, VerbGroup, VerbOutcome } from '../verb.ts';

const validReport = createValidator(CreateWorkProduct, 'the report');

async function report(context: VerbContext): Promise<VerbOutcome> {
  const { tx, run, action } = context;
  const issue = await issueOf(context, undefined);
  const title = textOf(context, 'a title');
  const input = validReport({ title, type: 'report', summary: action.body });
  await createWorkProduct(tx, run.actor, issue, input);
  return { text: `${issue.identifier}: report ${inline(title, 100)} added`, changed: true };
}

/** Types by file extension; anything else is plain text, since a verb's body is text. */
const types: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  md: 'text/markdown',
  svg: 'image/svg+xml',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
};

type Call = Pick<VerbContext, 'run' | 'action' | 'in_workspace'>;

function pathOf({ action }: Pick<VerbContext, 'action'>): string {
  const [path, second] = action.args.positional;
  if (path === undefined) throw invalid('a path is missing');
  if (second !== undefined) throw invalid('a path with spaces goes in double quotes');
  return checkFilePath(path);
}

const bytesOf = ({ action: { body } }: Pick<VerbContext, 'action'>): Buffer =>
  Buffer.from(body === null || body === '' ? '' : `${body}\n`);

/** One file for the issue and, if a program has a home but no workspace, one for the agent's own files. */
function filesToWrite(call: Call): VerbFile[] {
  const { run, in_workspace } = call;
  const filename = pathOf(call).split('/').at(-1)!;
  if (run.issue_id === null) throw invalid('this run has no issue to attach a file to');
  const content_type = types[filename.toLowerCase().split('.').at(-1)!] ?? 'text/plain';
  const file = { filename, content_type, bytes: bytesOf(call) };
  const attachment = { ...file, folder: 'attachments', owner: run.company_id } as const;
  if (in_workspace || adapterTraits(run.adapter_type).runs_as !== 'program') return [attachment];
  return [attachment, { ...file, folder: 'agents', owner: run.agent_id }];
}

async function writeFile(context: VerbContext): Promise<VerbOutcome> {
  const { tx, run, files, in_workspace } = context;
  const path = words(context)[0]!;
  const [attachment, own] = files;
  const issue = await issueOf(context, undefined);
  await createAttachments(tx, run.actor, issue, [attachment!]);
  if (own !== undefined) {
    const agent = await findAgent(tx, run.agent_id);
    if (agent === undefined) throw notFound('the agent is gone');
    await putAgentFile(tx, run.actor, agent, path, own);
  }
  const where = in_workspace ? 'attached, and written into the workspace' : 'attached';
  return { text: `${issue.identifier}: ${inline(path, 200)} ${where}`, changed: true };
}

export const deliverables: VerbGroup = {
  report: { permission: 'issues.update', commit: report },
  'write-file': {
    permission: 'files.write',
    files: filesToWrite,
    into_workspace: (call) => ({ path: pathOf(call), bytes: bytesOf(call) }),
    commit: writeFile,
  },
};
