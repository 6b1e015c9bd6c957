/** Whether the operator would learn of trouble: backups, license, alerts, and the channels that report them. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import {
  lastSuccessfulBackup,
  licenseState,
  listAlerts,
  listBrokenChannels,
  readChannelFigures,
} from '@acp/core';
import { alertTargets, connectionFailure, createGuardedFetch, isExposed } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { type Check, well, wrong } from './finding.ts';

const TIMEOUT_MS = 5000;
const LICENSE_WARNING_DAYS = 14;
/** Maximum number of failing channels named: a company may break its own, but the operator is the one asked. */
const CHANNELS_NAMED = 5;
const DAY_MS = 86_400_000;

export const operationsChecks: Record<string, Check> = {
  backups: {
    after: ['schema'],
    mend: 'see the page Backups',
    run: async ({ database, config }) => {
      const last = await lastSuccessfulBackup(database.db);
      const most = config.readyz_backup_max_age_hours;
      if (last === undefined) {
        // A fresh instance has an hour for its first backup.
        const { rows } = await database.db.execute<{ old: boolean }>(sql`
          select (value ->> 'first_boot')::timestamptz < now() - interval '1 hour' as old
          from instance_settings where key = 'entitlement'`);
        return rows[0]?.old === true
          ? wrong('none has been made yet', 'start a scheduler, which makes them, or run `ctl db backup`')
          : well('none has been made yet; a scheduler makes the first within a minute');
      }
      const detail = `the last one is ${Math.round(last.since_hours)} hours old`;
      return last.since_hours <= most
        ? well(detail)
        : wrong(detail, 'the page Backups and `ctl db backups` show why; make one with `ctl db backup`');
    },
  },
  license: {
    after: ['schema'],
    mend: 'install a license: `ctl license install`',
    run: async ({ database }) => {
      const { status, read_only, expires_at } = await licenseState(database.db);
      if (read_only) return wrong('the instance is read-only', 'install a license: `ctl license install`');
      if (expires_at === null) return well(status);
      const days = Math.floor((new Date(expires_at).getTime() - Date.now()) / DAY_MS);
      const detail = `${status}, ${days} days left`;
      return days > LICENSE_WARNING_DAYS
        ? well(detail)
        : wrong(detail, 'install a license before it expires: `ctl license install`');
    },
  },
  channels: {
    after: ['schema'],
    mend: 'see the companies’ Channels pages',
    run: async ({ database, config }) => {
      const figures = await readChannelFigures(database.db);
      if (figures.length === 0) return well('no company has any');
      const broken = await listBrokenChannels(database.db, CHANNELS_NAMED);
      const detail = [
        ...figures.map(
          ({ kind, connected, failing, refused }) =>
            `${kind}: ${connected} connected, ${failing} failing, ${refused} refused`,
        ),
        ...broken.map(
          ({ company, name, last_error }) => `${company}/${name}: ${last_error ?? 'reason unknown'}`,
        ),
      ].join('; ');
      const most = config.readyz_channel_staleness_sec;
      return figures.some(({ silent_sec }) => silent_sec !== null && silent_sec > most)
        ? wrong(
            detail,
            'a scheduler has to run, and to reach Slack and Telegram (SERVICE_SLACK_API_URL, SERVICE_TELEGRAM_API_URL)',
          )
        : well(detail);
    },
  },
  alerts: {
    after: ['schema'],
    mend: 'see the page Alerts',
    run: async ({ database }) => {
      const { items } = await listAlerts(database.db, null, { status: 'firing', limit: 20 });
      const open = items.filter(
        ({ acknowledged_at, company_id }) => acknowledged_at === null && company_id === null,
      );
      const [first] = open;
      return first === undefined
        ? well(`none for the instance, ${items.length} for companies`)
        : wrong(open.map(({ message }) => message).join('; '), first.mend);
    },
  },
  'alert channels': {
    mend: 'set SERVICE_SMTP_URL, SERVICE_ALERT_SLACK_URL, SERVICE_ALERT_TELEGRAM_TOKEN or SERVICE_ALERT_WEBHOOK_URL',
    run: ({ config }) => {
      const { mail, channels } = alertTargets(config);
      const ways = [...(mail ? ['mail'] : []), ...channels];
      if (ways.length > 0) return well(`${ways.join(', ')}; the page Alerts sends a test`);
      const detail = 'alerts appear only on the page Alerts';
      return isExposed(config)
        ? wrong(
            detail,
            'set SERVICE_SMTP_URL and SERVICE_MAIL_FROM, SERVICE_ALERT_SLACK_URL, SERVICE_ALERT_TELEGRAM_TOKEN or SERVICE_ALERT_WEBHOOK_URL',
          )
        : well(detail);
    },
  },
  'mail server': {
    mend: 'correct SERVICE_SMTP_URL',
    run: async ({ config: { smtp_url, encryption_key } }) => {
      if (smtp_url === null) return well('not set up');
      const url = new URL(smtp_url);
      const greeting = await greetingOf(url).catch((error: unknown) =>
        connectionFailure(new Error('', { cause: error })),
      );
      const place = `${url.protocol}//${url.host}`;
      return greeting.startsWith('220')
        ? well(
            `${place} answers${encryption_key ? '' : '; without SERVICE_ENCRYPTION_KEY, invites, confirmations and password resets are not sent'}`,
          )
        : wrong(
            `${place}: ${greeting}`,
            'correct SERVICE_SMTP_URL: smtps:// is for servers that begin with TLS (465)',
          );
    },
  },
  telemetry: {
    mend: 'correct OTEL_EXPORTER_OTLP_ENDPOINT',
    run: async ({
      config: { otel_exporter_otlp_endpoint: endpoint, otel_exporter_otlp_headers: headers },
    }) => {
      if (endpoint === null) return well('not set up');
      const answer = await createGuardedFetch({ egress: 'any' })(`${endpoint}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: '{"resourceSpans":[]}',
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      }).then(
        ({ status }) => (status < 400 ? null : `it answered ${status}`),
        (error: unknown) => connectionFailure(error),
      );
      return answer === null
        ? well(`${endpoint} takes traces`)
        : wrong(
            `${endpoint}: ${answer}`,
            'correct OTEL_EXPORTER_OTLP_ENDPOINT (OTLP over HTTP, port 4318) or _HEADERS',
          );
    },
  },
};

/** The first line sent by a mail server. */
async function greetingOf({ protocol, hostname, port }: URL): Promise<string> {
  const secure = protocol === 'smtps:';
  const to = { host: hostname.replace(/[[\]]/g, ''), port: Number(port || (secure ? 465 : 587)) };
  const socket = secure ? connectTls({ ...to, servername: to.host }) : connect(to);
  try {
    const [said] = (await once(socket, 'data', { signal: AbortSignal.timeout(TIMEOUT_MS) })) as [Buffer];
    return said.toString('latin1').split('\r\n')[0] ?? '';
  } finally {
    socket.destroy();
  }
}
