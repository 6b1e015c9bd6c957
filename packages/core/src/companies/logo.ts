import { type Actor, type Logo, LOGO_MAX_PIXELS, type LogoType, logoTypes } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { notFound, said, unsupported } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { readImageHeader } from './image-header.ts';

const { assets, company_logos } = schema;

interface LogoImage {
  storage_key: string;
  content_type: string;
  size_bytes: number;
}

interface NewLogo extends LogoImage {
  filename: string;
  theme: Logo['theme'];
}

/** Throws `notFound`. */
export async function findLogo(tx: Tx, company_id: string): Promise<Logo> {
  const [row] = await tx.select().from(company_logos).where(eq(company_logos.company_id, company_id));
  if (!row) throw notFound();
  return presentLogo(row);
}

/** Location of the image. Throws `notFound` without a logo or its asset. */
export async function findLogoImage(tx: Tx, company_id: string): Promise<LogoImage> {
  const [row] = await tx
    .select({
      storage_key: assets.storage_key,
      content_type: assets.content_type,
      size_bytes: assets.size_bytes,
    })
    .from(company_logos)
    .innerJoin(assets, eq(assets.id, company_logos.asset_id))
    .where(eq(company_logos.company_id, company_id));
  if (!row) throw notFound();
  return row;
}

/**
 * The first bytes must identify one of the four types, match the declared one, and give an acceptable size: nothing is decoded
 * before this. Throws `unsupported`.
 */
export function checkLogoHeader(
  bytes: Buffer,
  declared: string,
): { content_type: LogoType; has_pixels: boolean } {
  const type = logoTypes.find((each) => each === declared);
  if (type === undefined) throw unsupported('a logo is a PNG, JPEG, GIF or WebP image');
  const header = readImageHeader(bytes);
  if (header?.type !== type) throw unsupported(said`the file is no ${type}`);
  const { width, height } = header;
  if (width === 0 || height === 0 || width > LOGO_MAX_PIXELS || height > LOGO_MAX_PIXELS)
    throw unsupported(said`a logo has at most ${LOGO_MAX_PIXELS} by ${LOGO_MAX_PIXELS} pixels`);
  return { content_type: type, has_pixels: !header.is_all };
}

/** Replaces the logo. @returns keys of the former files, which are orphans after the commit */
export async function setLogo(
  tx: Tx,
  actor: Actor,
  company_id: string,
  { theme, ...file }: NewLogo,
): Promise<{ logo: Logo; former: string[] }> {
  const uploaded_by_user_id = actorColumns(actor).user_id;
  const [asset] = await tx
    .insert(assets)
    .values({ company_id, ...file, uploaded_by_user_id })
    .returning();
  const asset_id = asset!.id;
  // Of two concurrent changes the second waits here, and then removes the first one's asset.
  const [row] = await tx
    .insert(company_logos)
    .values({ company_id, asset_id, theme })
    .onConflictDoUpdate({
      target: company_logos.company_id,
      set: { asset_id, theme, updated_at: sql`now()` },
    })
    .returning();
  const former = await deleteAssets(tx, company_id, asset_id);
  await recordChanges(tx, actor, [entry(company_id, 'company.logo_set', { asset_id, theme })]);
  return { logo: presentLogo(row!), former };
}

/** @returns keys of the files, which are orphans after the commit. Throws `notFound`. */
export async function deleteLogo(tx: Tx, actor: Actor, company_id: string): Promise<string[]> {
  const [row] = await tx
    .delete(company_logos)
    .where(eq(company_logos.company_id, company_id))
    .returning({ company_id: company_logos.company_id });
  if (!row) throw notFound();
  const former = await deleteAssets(tx, company_id, null);
  await recordChanges(tx, actor, [entry(company_id, 'company.logo_removed', {})]);
  return former;
}

/** All of the company's assets are logos. */
async function deleteAssets(tx: Tx, company_id: string, except: string | null): Promise<string[]> {
  const rows = await tx
    .delete(assets)
    .where(sql`${assets.company_id} = ${company_id} and ${assets.id} is distinct from ${except}::uuid`)
    .returning({ key: assets.storage_key });
  return rows.map(({ key }) => key);
}

function presentLogo(row: typeof company_logos.$inferSelect): Logo {
  const { asset_id, theme, updated_at } = row;
  return { asset_id, theme: theme as Logo['theme'], updated_at };
}

function entry(company_id: string, action: string, details: Record<string, unknown>) {
  return { company_id, action, entity_type: 'company', entity_id: company_id, details };
}
