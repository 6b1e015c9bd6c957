import type { MessageChannel } from '@acp/contract';
import type { ClaimedMessage } from '@acp/core';
import { type Config, connectionFailure, createGuardedFetch, discardBody, hmacSha256Hex } from '@acp/kernel';
import { openMail } from './mail.ts';
import { Undeliverable } from './undeliverable.ts';

type Send = (message: ClaimedMessage, signal: AbortSignal) => Promise<void>;

/** Telegram accepts 4,096 characters, Slack shows 40,000. */
const TELEGRAM_CHARACTERS = 4000;

/**
 * How a message is sent over each channel. The operator sets all their addresses, none comes from a tenant, so private
 * addresses are allowed.
 */
export function openChannels(config: Config): { send: Send; close(): Promise<void> } {
  const mail = openMail(config);
  const http = createGuardedFetch({ egress: 'any' });
  const post = async (url: string, body: string, headers: Record<string, string>, signal: AbortSignal) => {
    const answer = await http(url, {
      method: 'POST',
      redirect: 'manual',
      body,
      headers: { 'content-type': 'application/json', 'user-agent': 'agent-control-plane', ...headers },
      signal,
    }).catch((error: unknown) => {
      // The address contains a secret, so the driver's own message is discarded.
      throw new Error(connectionFailure(error));
    });
    await discardBody(answer);
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
  };

  const channels: Record<MessageChannel, Send> = {
    mail: async (message, signal) => mail.send(message, signal),
    async slack({ subject, body }, signal) {
      const url = setUp(config.alert_slack_url);
      await post(url, JSON.stringify({ text: slackText(`*${subject}*\n${body}`) }), {}, signal);
    },
    async telegram({ subject, body }, signal) {
      const token = setUp(config.alert_telegram_token);
      const text = `${subject}\n\n${body}`.slice(0, TELEGRAM_CHARACTERS).toWellFormed();
      const sent = { chat_id: config.alert_telegram_chat, text, link_preview_options: { is_disabled: true } };
      await post(`${config.alert_telegram_url}/bot${token}/sendMessage`, JSON.stringify(sent), {}, signal);
    },
    async webhook({ id, payload }, signal) {
      const url = setUp(config.alert_webhook_url);
      const secret = setUp(config.alert_webhook_secret);
      const body = JSON.stringify({ id, ...payload });
      const timestamp = String(Math.floor(Date.now() / 1000));
      const headers = {
        'x-service-delivery': id,
        'x-service-timestamp': timestamp,
        'x-service-signature': hmacSha256Hex(secret, `${timestamp}.${body}`),
      };
      await post(url, body, headers, signal);
    },
  };
  return {
    send: async (message, signal) => channels[message.channel](message, signal),
    close: async () => mail.close(),
  };
}

function setUp(value: string | null): string {
  if (value === null) throw new Undeliverable('the channel is no longer set up');
  return value;
}

/** Angle brackets would make a link or a mention of everyone, and names and errors come from anyone. */
const slackText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
