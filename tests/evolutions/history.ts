/** Agents with finished issues, and a stand-in for the models of an evolution. */
import { schema, type Tx } from '@acp/db';
import { createAgent, createIssue } from '@acp/testkit';
import { sql } from 'drizzle-orm';

const { comments, heartbeat_runs, prompt_versions } = schema;

type Agent = Awaited<ReturnType<typeof createAgent>>;

/** Creates an agent with a first version of its prompt, as every hired one has. */
export async function createLearner(
  tx: Tx,
  company: { id: string },
  values: Parameters<typeof createAgent>[2] = {},
): Promise<Agent> {
  const agent = await createAgent(tx, company, { name: 'Ada', system_prompt: 'You answer.', ...values });
  const { id: agent_id, system_prompt } = agent;
  await tx
    .insert(prompt_versions)
    .values({ agent_id, version_number: 1, system_prompt: system_prompt!, source: 'manual' });
  return agent;
}

/** Adds finished issues on which the agent has run, with people's comments. */
export async function finishIssues(
  tx: Tx,
  agent: { id: string; company_id: string },
  count: number,
  said = 'Please sign what you write.',
): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 1; n <= count; n += 1) {
    const issue = await createIssue(
      tx,
      { id: agent.company_id },
      {
        title: `Task ${n}`,
        status: 'done',
        assignee_agent_id: agent.id,
        body_markdown: `Answer letter ${n}.`,
      },
    );
    ids.push(issue.id);
    await tx.insert(heartbeat_runs).values({
      company_id: agent.company_id,
      agent_id: agent.id,
      issue_id: issue.id,
      subject_type: 'issue',
      subject_id: issue.id,
      status: 'succeeded',
      wake_reason: 'assignment',
      adapter_type: 'llm',
      created_at: sql`now() - interval '1 hour'`,
      started_at: sql`now() - interval '1 hour'`,
      finished_at: sql`now() - interval '59 minutes'`,
    });
    await tx.insert(comments).values({
      company_id: agent.company_id,
      issue_id: issue.id,
      author_label: 'Olga',
      body_markdown: said,
    });
  }
  return ids;
}

/** Lessons that the stand-in's prompts may learn: each makes answers better. */
const LESSONS = ['Sign what you write.', 'Say what is open.', 'Set the status.'];

/**
 * Answers every step like a model whose agents do as their prompt says: the more lessons a prompt contains, the better it
 * is judged, and a reflection adds the first missing one.
 */
export function standIn({ system, user }: { system: string; user: string }): string {
  const learnt = (text: string): number => LESSONS.filter((lesson) => text.includes(lesson)).length;
  if (system.startsWith('You judge')) {
    const point = 1 + Math.min(3, learnt(user.split('# What the agent said')[1] ?? ''));
    const points = { task: point, soundness: point, action: point, lessons: point, clarity: point };
    return JSON.stringify({ ...points, feedback: `It follows ${point - 1} of the lessons.` });
  }
  if (system.startsWith('You improve')) {
    const [, prompt = ''] = /<present_prompt>\n([^]*?)\n<\/present_prompt>/.exec(user) ?? [];
    const lesson = LESSONS.find((each) => !prompt.includes(each)) ?? 'Be brief.';
    return `Here it is:\n${JSON.stringify({ reason: `It lacked: ${lesson}`, system_prompt: `${prompt} ${lesson}` })}`;
  }
  const [head = ''] = system.split('\n\nYou are ');
  return `Dear writer, done as told: ${head}\n/status done`;
}
