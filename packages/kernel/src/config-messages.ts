/** Variables for mail and for the operator's alert channels. */
import { Type } from 'typebox';

const secret = { secret: true };

export const messageVariables = {
  SERVICE_SMTP_URL: Type.Optional(
    Type.String({
      ...secret,
      format: 'smtp-url',
      default_note: 'unset: no mail is sent',
      description: 'Mail server: smtp:// takes TLS where it is offered, smtps:// begins with it.',
    }),
  ),
  SERVICE_MAIL_FROM: Type.Optional(
    Type.String({
      format: 'mailbox',
      description: 'Sender of all mail; required with SERVICE_SMTP_URL.',
    }),
  ),
  SERVICE_ALERT_MAIL_TO: Type.Unsafe<string[]>({
    format: 'email-list',
    default: '',
    default_note: 'the instance’s admins',
    description: 'Who gets all alerts by mail; admins of a company get its own in any case.',
  }),
  SERVICE_ALERT_SLACK_URL: Type.Optional(
    Type.String({
      ...secret,
      format: 'http-url',
      description: 'Incoming webhook of Slack, or of what understands the same, for all alerts.',
    }),
  ),
  SERVICE_ALERT_TELEGRAM_TOKEN: Type.Optional(
    Type.String({
      ...secret,
      format: 'telegram-token',
      description: 'Token of the Telegram bot that posts all alerts; set together with the chat.',
    }),
  ),
  SERVICE_ALERT_TELEGRAM_CHAT: Type.Optional(
    Type.String({
      format: 'telegram-chat',
      description: 'Chat or channel in which it posts them.',
    }),
  ),
  SERVICE_ALERT_TELEGRAM_URL: Type.String({
    format: 'http-url',
    default: 'https://api.telegram.org',
    description: 'Telegram’s Bot API, or a server of one’s own that speaks it.',
  }),
  SERVICE_TELEGRAM_API_URL: Type.String({
    format: 'http-url',
    default: 'https://api.telegram.org',
    description:
      'Bot API that companies’ Telegram channels use: Telegram’s, or a server of one’s own that speaks it.',
  }),
  SERVICE_SLACK_API_URL: Type.String({
    format: 'http-url',
    default: 'https://slack.com/api',
    description: 'Web API that companies’ Slack channels use: Slack’s, or what speaks it.',
  }),
  SERVICE_ALERT_WEBHOOK_URL: Type.Optional(
    Type.String({
      ...secret,
      format: 'http-url',
      description: 'Where all alerts are posted as JSON, signed as outbound webhooks are.',
    }),
  ),
  SERVICE_ALERT_WEBHOOK_SECRET: Type.Optional(
    Type.String({
      ...secret,
      minLength: 16,
      description: 'What these are signed with; required with their URL.',
    }),
  ),
};
