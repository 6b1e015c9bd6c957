import { tool } from '@acp/plugin-sdk';
import { github, type GithubComment, type GithubItem } from './github-api.ts';
import { known, remember } from './mirror.ts';
import { listed } from './settings.ts';

const repository = {
  type: 'string',
  description: 'owner/name, one of the repositories that this plugin may use',
  maxLength: 200,
  examples: ['octocat/hello-world'],
} as const;
const number = {
  type: 'integer',
  minimum: 1,
  description: 'Number of the issue or the pull request',
} as const;

/** Maximum length of a text that becomes part of a prompt. */
const MAX_TEXT = 20_000;
const COMMENTS = 30;

export const tools = [
  tool({
    namespace: 'github',
    name: 'list',
    description: 'Lists issues and pull requests of a repository, newest first, from the mirror.',
    input_schema: {
      type: 'object',
      properties: {
        repository,
        kind: { enum: ['issue', 'pull_request'] },
        state: { enum: ['open', 'closed', 'merged'] },
        limit: { type: 'integer', minimum: 1, maximum: 100 },
      },
      required: ['repository'],
      additionalProperties: false,
    },
    run: async ({ repository: name, kind, state, limit = 30 }, context) => {
      const items = await known(context.host, listed(context, name), 100);
      const wanted = items.filter(
        (item) => (kind === undefined || item.kind === kind) && (state === undefined || item.state === state),
      );
      return { items: wanted.slice(0, limit).map(({ told: _told, ...item }) => item) };
    },
  }),
  tool({
    namespace: 'github',
    name: 'read',
    description: 'Reads an issue or a pull request with its comments, as they are at GitHub now.',
    input_schema: {
      type: 'object',
      properties: { repository, number },
      required: ['repository', 'number'],
      additionalProperties: false,
    },
    run: async ({ repository: name, number: of }, context) => {
      const path = `/repos/${listed(context, name)}/issues/${of}`;
      const found = await github<GithubItem>(context, 'GET', path);
      const comments = await github<GithubComment[]>(context, 'GET', `${path}/comments?per_page=${COMMENTS}`);
      const { told: _told, ...item } = await remember(context.host, name.toLowerCase(), found);
      return {
        ...item,
        body: (found.body ?? '').slice(0, MAX_TEXT),
        comments: comments.map(({ body, created_at, html_url, user }) => ({
          author: user?.login ?? 'ghost',
          body: (body ?? '').slice(0, MAX_TEXT),
          created_at,
          url: html_url,
        })),
      };
    },
  }),
  tool({
    namespace: 'github',
    name: 'comment',
    description: 'Comments on an issue or a pull request at GitHub. Everybody who may see it there reads it.',
    input_schema: {
      type: 'object',
      properties: { repository, number, body: { type: 'string', minLength: 1, maxLength: 60_000 } },
      required: ['repository', 'number', 'body'],
      additionalProperties: false,
    },
    run: async ({ repository: name, number: of, body }, context) => {
      const path = `/repos/${listed(context, name)}/issues/${of}/comments`;
      const { html_url } = await github<GithubComment>(context, 'POST', path, { body });
      return { url: html_url };
    },
  }),
];
