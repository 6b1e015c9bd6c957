import type { EndpointRow } from '@acp/contract';
import express from 'express';
import { isMultipart, readMultipart } from '../../http/multipart.ts';
import { ownerOf, Upload, type UploadedFile } from '../../http/upload.ts';
import { FormValues } from './form-values.ts';
import type { UiContext } from './ui-routes.ts';

const urlencoded = express.urlencoded({ extended: false, limit: '2mb', parameterLimit: 200 });

/** A form on its way in: its fields, and the files of a row that takes some. */
export class SentForm {
  values = new FormValues({});
  files: readonly UploadedFile[] | undefined;
  readonly #context: UiContext;
  readonly #upload: Upload | undefined;

  constructor({ files: rule }: EndpointRow, context: UiContext) {
    const { services, request } = context;
    this.#context = context;
    if (rule && isMultipart(request))
      this.#upload = new Upload(rule, services.upload_limits, services.files, ownerOf(rule, context));
  }

  /** @throws what a body that cannot be read is answered with */
  async read(): Promise<void> {
    const { request, response } = this.#context;
    if (this.#upload) {
      this.values = new FormValues(await readMultipart(request, response, this.#upload));
      this.files = await this.#upload.files();
      return;
    }
    await new Promise<void>((resolve, reject) => {
      urlencoded(request, response, (error?: unknown) => (error ? reject(error) : resolve()));
    });
    this.values = new FormValues(request.body);
  }

  /** Removes the bytes of files that no row has kept. */
  async discard(): Promise<void> {
    await this.#upload?.discard();
  }
}
