import type { EndpointRow } from '@acp/contract';
import { invalid } from '@acp/kernel';
import express, { type Request, type Response } from 'express';
import { roomForBody } from '../../http/memory-places.ts';
import { isMultipart, readMultipart } from '../../http/multipart.ts';
import { ownerOf, Upload, type UploadedFile } from '../../http/upload.ts';
import { FormValues } from './form-values.ts';
import type { UiContext } from './ui-routes.ts';

const urlencoded = express.urlencoded({ extended: false, limit: '2mb', parameterLimit: 5000 });

export async function readUrlencoded(request: Request, response: Response): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    urlencoded(request, response, (error?: unknown) => (error ? reject(error) : resolve()));
  });
}

/** A form being received: its fields, and its files if the endpoint accepts some. */
export class SentForm {
  values = new FormValues({});
  files: readonly UploadedFile[] | undefined;
  readonly #context: UiContext;
  readonly #upload: Upload | undefined;
  readonly #multipart_only: boolean;
  readonly #row: EndpointRow;
  #leave: (() => void) | undefined;

  constructor(row: EndpointRow, context: UiContext) {
    const { files: rule, body_kind } = row;
    const { services, request } = context;
    this.#row = row;
    this.#context = context;
    this.#multipart_only = body_kind === 'multipart';
    if (rule && isMultipart(request))
      this.#upload = new Upload(rule, services.upload_limits, services.files, ownerOf(rule, context));
  }

  /** @throws the error that an unreadable body is answered with */
  async read(): Promise<void> {
    const { request, response, services, company_id, user: actor } = this.#context;
    this.#leave = roomForBody({ row: this.#row, request, services, company_id, actor });
    if (this.#upload) {
      try {
        this.values = new FormValues(await readMultipart(request, response, this.#upload));
      } catch (error) {
        // The fields ahead of the rejected part.
        this.values = new FormValues(request.body);
        throw error;
      }
      this.files = await this.#upload.files();
      return;
    }
    await readUrlencoded(request, response);
    this.values = new FormValues(request.body);
    if (this.#multipart_only) throw invalid('the form must be sent as multipart/form-data');
  }

  /** Gives its room in memory back, once the action is over. */
  release(): void {
    this.#leave?.();
  }

  /** Removes the bytes of files that no row references. */
  async discard(): Promise<void> {
    await this.#upload?.discard();
  }
}
