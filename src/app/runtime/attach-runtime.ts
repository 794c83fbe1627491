import type { RuntimeListing } from '../../core/transition';
import type { Attachment, AttachmentParts } from './attachment';
import { NriAttachment } from './nri-attachment';
import { PauseFinder } from './pause-finder';

/** The attachment of the chosen mode, and the runtime as the reconciler asks it. */
export interface AttachedRuntime {
  readonly attachment: Attachment;
  /** Returns complete lists; absent without a CRI endpoint. */
  readonly list?: () => Promise<RuntimeListing>;
  /** Makes the runtime describe all its containers anew, since it has these unreported ones. */
  readonly resynchronize: (containerIds: readonly string[]) => void;
}

/** Makes the attachment of the chosen mode, and the search for pause containers, which both modes need. */
export async function attachRuntime(given: Omit<AttachmentParts, 'pauses'>): Promise<AttachedRuntime> {
  const { context, client } = given;
  const attachment = await createAttachment({ ...given, pauses: findPauses(given) });
  return {
    attachment,
    ...(client.isOn && { list: () => client.list(context.signal) }),
    resynchronize: (containerIds) => {
      context.log.warn({ containerIds }, 'the runtime has containers that it did not report; asking for all of them');
      attachment.resynchronize();
    },
  };
}

async function createAttachment(parts: AttachmentParts): Promise<Attachment> {
  if (parts.context.config.mode === 'nri') return new NriAttachment(parts);
  const { ProxyAttachment } = await import('./proxy-attachment');
  return new ProxyAttachment(parts);
}

function findPauses({ context, transactor, client }: Omit<AttachmentParts, 'pauses'>): PauseFinder {
  const pauses = new PauseFinder({
    ...context,
    report: (found) => transactor.handle({ kind: 'pauses-found', pauses: found }),
    ...(client.isOn && { ask: (id) => client.ask((cri, options) => cri.readPause(id, options)) }),
  });
  context.events.on('decided', 'looking for pause containers', ({ request }) => {
    if (request) pauses.follow(request);
  });
  return pauses;
}
