// Waits until a runtime answers CRI calls and knows its images.
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { messageOf } from '../shared/errors.mjs';

/**
 * @typedef {{ runtime: { v1: Record<'RuntimeService' | 'ImageService',
 * import('@grpc/grpc-js').ServiceClientConstructor> } }} Cri
 */

const proto = fileURLToPath(new URL('../../proto/cri/v1/cri.proto', import.meta.url));

/**
 * Waits until the runtime answers.
 *
 * containerd opens its socket before its CRI part is ready, and passes an imported image to that part only afterwards.
 * @param {string} socket
 * @param {string[]} images names that must be known
 * @param {number} deadlineMs
 * @returns {Promise<{ runtimeName: string, runtimeVersion: string }>}
 */
export async function waitForCri(socket, images, deadlineMs) {
  const { v1 } = /** @type {Cri} */ (/** @type {unknown} */ (loadPackageDefinition(loadSync(proto)))).runtime;
  /** @type {ConstructorParameters<import('@grpc/grpc-js').ServiceClientConstructor>} */
  const target = [`unix://${socket}`, credentials.createInsecure(), { 'grpc.max_reconnect_backoff_ms': 100 }];
  const runtime = new v1.RuntimeService(...target);
  const image = new v1.ImageService(...target);
  const end = Date.now() + deadlineMs;
  try {
    for (;;) {
      try {
        const version = await call(runtime, 'Version', {});
        for (const name of images) {
          const known = await call(image, 'ImageStatus', { image: { image: name } });
          if (!known.image) throw new Error(`image ${name} is not known yet`);
        }
        return version;
      } catch (error) {
        if (Date.now() > end)
          throw new Error(`the runtime is not ready after ${deadlineMs} ms: ${messageOf(error)}`, { cause: error });
        await delay(20);
      }
    }
  } finally {
    runtime.close();
    image.close();
  }
}

/**
 * @param {Record<string, any>} client
 * @param {string} method
 * @param {object} request
 * @returns {Promise<any>}
 */
const call = (client, method, request) =>
  new Promise((resolve, reject) => {
    /** @type {import('@grpc/grpc-js').requestCallback<unknown>} */
    const settle = (error, answer) => (error ? reject(error) : resolve(answer));
    client[method](request, { deadline: Date.now() + 10_000 }, settle);
  });
