import { describe, expect, it } from '@jest/globals';
import { endpoints } from './endpoints.ts';
import { exampleAnswer, exampleBody } from './examples.ts';
import * as contract from './index.ts';
import { createValidator } from './validator.ts';
import { openApiDocument } from './openapi.ts';

interface Operation {
  operationId: string;
  security: object[];
  parameters: { name: string; in: string; required: boolean; description?: string }[];
  responses: Record<string, { $ref?: string }>;
  requestBody?: { required: boolean; content: object };
}
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { responses: object; schemas: object };
}

const document = JSON.parse(JSON.stringify(openApiDocument(endpoints, '1.2.3', contract))) as Document;
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

describe('the OpenAPI document', () => {
  it('has every row of the table once, under its own id', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(operations.map(({ operationId }) => operationId).toSorted()).toEqual(
      endpoints.map(({ id }) => id).toSorted(),
    );
  });

  it('declares every parameter that a path names', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      for (const { parameters } of Object.values(methods)) {
        expect(parameters.filter((each) => each.in === 'path').map(({ name }) => name)).toEqual(named);
      }
    }
  });

  it('refers to nothing that it does not define', () => {
    const text = JSON.stringify(document);
    const references = new Set([...text.matchAll(/"#\/components\/(\w+)\/(\w+)"/g)].map(([all]) => all));
    for (const reference of references) {
      const [kind, name] = reference.slice('"#/components/'.length, -1).split('/');
      expect(document.components).toHaveProperty([kind!, name!]);
    }
    expect(references.size).toBeGreaterThan(1);
  });

  it('says who may call: nobody is asked at public rows, others by session or key', () => {
    const publicOnes = operations
      .filter(({ security }) => security.length === 0)
      .map((each) => each.operationId);
    expect(publicOnes).toEqual(endpoints.filter(({ auth }) => auth.length === 0).map(({ id }) => id));
    expect(document.paths['/api/me']?.get?.security).toEqual([{ session: [] }]);
    expect(document.paths['/api/agents/me']?.get?.security).toEqual([{ bearer: [] }]);
  });

  it('tells of pages, optional bodies and repeated requests', () => {
    const list = document.paths['/api/companies/{companyId}/issues'];
    expect(list?.get?.responses['200']).toHaveProperty(['headers', 'X-Next-Cursor']);
    expect(list?.post?.parameters.map(({ name }) => name)).toContain('Idempotency-Key');
    expect(document.paths['/api/agents/{agentId}/pause']?.post?.requestBody?.required).toBe(false);
  });

  it('says where a repeat takes effect once: not with files, and without the secret that was shown', () => {
    const told = (path: string) =>
      document.paths[path]?.post?.parameters.find(({ name }) => name === 'Idempotency-Key')?.description;
    expect(told('/api/issues/{issueId}/comments')).not.toMatch(/multipart|already issued/);
    expect(told('/api/companies/{companyId}/issues')).toContain('multipart/form-data');
    expect(told('/api/companies/{companyId}/board-user-keys')).toContain('already issued');
    const files = Object.entries(document.paths).flatMap(([path, { post }]) =>
      Object.keys(post?.requestBody?.content ?? {}).join() === 'multipart/form-data' ? [path] : [],
    );
    expect(files).toContain('/api/issues/{issueId}/attachments');
    expect(files.filter((path) => told(path) !== undefined)).toEqual([]);
  });

  it('describes streams of events, and how they are resumed', () => {
    const stream = document.paths['/api/live/events']?.get;
    expect(stream?.responses['200']).toHaveProperty(['content', 'text/event-stream']);
    expect(stream?.parameters.filter((each) => each.in === 'header').map(({ name }) => name)).toEqual([
      'Last-Event-ID',
    ]);
  });

  it('names the shapes, so that a generated client has types: everywhere the same, with their own parts named too', () => {
    const schemas = document.components.schemas as Record<string, { properties: Record<string, unknown> }>;
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(['Issue', 'Agent', 'CreateIssue', 'Error']));
    const issue = { $ref: '#/components/schemas/Issue' };
    const text = JSON.stringify(document.paths['/api/companies/{companyId}/issues']?.get?.responses['200']);
    expect(text).toContain(`"items":${JSON.stringify(issue)}`);
    expect(schemas.IssueDetail?.properties.labels).toEqual({
      type: 'array',
      items: { $ref: '#/components/schemas/Label' },
    });
  });
});

describe('the examples', () => {
  const withBody = endpoints.filter((row) => exampleBody(row) !== undefined);

  it.each(withBody.map((row) => [row.id, row] as const))('%s takes its body', (_id, row) => {
    const example = exampleBody(row);
    expect(() => createValidator(row.body!, 'body')(structuredClone(example))).not.toThrow();
    // A field missing from the schema would be ignored.
    const known = Object.keys((row.body as { properties?: object }).properties ?? (example as object));
    expect(known).toEqual(expect.arrayContaining(Object.keys(example as object)));
  });

  const answering = endpoints.filter((row) => row.response !== null);

  it.each(answering.map((row) => [row.id, row] as const))('%s may answer so', (_id, row) => {
    const example = JSON.parse(JSON.stringify(exampleAnswer(row)));
    expect(() => createValidator(row.response!, 'answer')(example)).not.toThrow();
  });

  it('stand in the document beside their schemas', () => {
    const create = document.paths['/api/companies/{companyId}/issues']?.post;
    expect(JSON.stringify(create?.requestBody)).toContain('"example":{"title":"Set up backups"');
    expect(JSON.stringify(create?.responses['201'])).toContain('"example":{');
  });
});
