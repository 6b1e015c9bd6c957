/** Remote agents: one from the official library of the 0.3 generation, and one that answers as each test says. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import {
  type AgentExecutor,
  DefaultExecutionEventBusManager,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from 'a2a-sdk-0.3/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from 'a2a-sdk-0.3/server/express';
import { AgentCard, Task as Task1, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor as AgentExecutor1,
  DefaultRequestHandler as DefaultRequestHandler1,
  InMemoryTaskStore as InMemoryTaskStore1,
} from '@a2a-js/sdk/server';
import {
  agentCardHandler as agentCardHandler1,
  jsonRpcHandler as jsonRpcHandler1,
  UserBuilder as UserBuilder1,
} from '@a2a-js/sdk/server/express';
import { newId } from '@acp/kernel';

async function serve(listener: Parameters<typeof createServer>[1]): Promise<{ url: string; close(): void }> {
  const server: Server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Asks for a unit, and answers once it has been given one and may. */
const surveyor = (mayAnswer: Promise<void>): AgentExecutor => ({
  async execute({ userMessage, taskId, contextId, task }, bus) {
    const words = userMessage.parts.flatMap((part) => (part.kind === 'text' ? part.text : [])).join(' ');
    const said = (text: string) => ({
      kind: 'message' as const,
      messageId: newId(),
      role: 'agent' as const,
      taskId,
      contextId,
      parts: [{ kind: 'text' as const, text }],
    });
    const about = { taskId, contextId };
    if (task === undefined)
      bus.publish({
        kind: 'task',
        id: taskId,
        contextId,
        status: { state: 'submitted' },
        history: [userMessage],
      });
    if (!/metric/.test(words)) {
      const status = { state: 'input-required' as const, message: said('Metric or imperial?') };
      bus.publish({ kind: 'status-update', ...about, status, final: true });
    } else {
      bus.publish({ kind: 'status-update', ...about, status: { state: 'working' }, final: false });
      await mayAnswer;
      const parts = [{ kind: 'text' as const, text: '42' }];
      bus.publish({
        kind: 'artifact-update',
        ...about,
        artifact: { artifactId: 'd', name: 'Distance', parts },
      });
      const status = { state: 'completed' as const, message: said('It is 42 km.') };
      bus.publish({ kind: 'status-update', ...about, status, final: true });
    }
    bus.finished();
  },
  cancelTask: async () => Promise.resolve(),
});

/** Served by its library, notifications included. `answer` lets it end its task. */
export async function startFormerAgent() {
  const app = express();
  const server = await serve(app);
  const answer = Promise.withResolvers<void>();
  const card = {
    name: 'Surveyor',
    description: 'Measures distances',
    url: `${server.url}/rpc`,
    version: '1',
    protocolVersion: '0.3.0',
    preferredTransport: 'JSONRPC',
    capabilities: { pushNotifications: true },
    defaultInputModes: ['text'],
    defaultOutputModes: ['text'],
    skills: [],
  };
  const store = new InMemoryPushNotificationStore();
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    surveyor(answer.promise),
    new DefaultExecutionEventBusManager(),
    store,
    new DefaultPushNotificationSender(store),
  );
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  return { ...server, answer: answer.resolve };
}

const words1 = (text: string, about: object) => ({
  messageId: newId(),
  role: 'ROLE_AGENT',
  parts: [{ text }],
  ...about,
});

/** Answers immediately. */
const calculator: AgentExecutor1 = {
  async execute({ taskId, contextId }, bus) {
    const about = { taskId, contextId };
    const submitted = { id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' } };
    bus.publish(AgentEvent.task(Task1.fromJSON(submitted)));
    const status = { state: 'TASK_STATE_COMPLETED', message: words1('It is 4.', about) };
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ ...about, status })));
    bus.finished();
    return Promise.resolve();
  },
  cancelTask: async () => Promise.resolve(),
};

/** Uses the official library of the 1.0 generation, without notifications. */
export async function startLaterAgent() {
  const app = express();
  const server = await serve(app);
  const card = AgentCard.fromJSON({
    name: 'Calculator',
    description: 'Adds',
    version: '1',
    supportedInterfaces: [{ url: `${server.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { pushNotifications: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  });
  const requestHandler = new DefaultRequestHandler1(card, new InMemoryTaskStore1(), calculator);
  app.use('/.well-known/agent-card.json', agentCardHandler1({ agentCardProvider: requestHandler }));
  app.use('/rpc', jsonRpcHandler1({ requestHandler, userBuilder: UserBuilder1.noAuthentication }));
  return server;
}

export interface Asked {
  method: string;
  params: Record<string, unknown> & {
    message?: { messageId: string; metadata?: object };
    token?: string;
    url?: string;
  };
}

/** The response to a method: a result, an HTTP status alone, or nothing at all. */
export type Behaviour = (asked: Asked) => object | number | 'silence' | Promise<object>;

/** Speaks 1.0, is called Faraday, and always serves its card. */
export async function startWilfulAgent() {
  const journal: Asked[] = [];
  let behave: Behaviour = () => 'silence';
  const answer = async (request: IncomingMessage, response: ServerResponse, text: string): Promise<void> => {
    const json = (value: object) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (request.method === 'GET')
      return json({
        name: 'Faraday',
        description: 'Knows electricity, currents and magnets',
        supportedInterfaces: [
          { url: `${server.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        ],
      });
    const asked = JSON.parse(text) as Asked & { id: string };
    journal.push(asked);
    const result = await behave(asked);
    if (typeof result === 'number') response.writeHead(result).end();
    else if (result !== 'silence') json({ jsonrpc: '2.0', id: asked.id, ...result });
  };
  const server = await serve((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => void answer(request, response, text));
  });
  return {
    ...server,
    journal,
    behave(next: Behaviour) {
      behave = next;
      journal.length = 0;
    },
  };
}
