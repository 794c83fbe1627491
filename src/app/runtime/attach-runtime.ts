import type { Attachment, AttachmentParts } from './attachment';
import { NriAttachment } from './nri-attachment';
import { PauseFinder } from './pause-finder';

/** Makes the attachment of the chosen mode, and the search for pause containers, which both modes need. */
export async function attachRuntime(given: Omit<AttachmentParts, 'pauses'>): Promise<Attachment> {
  const { context, transactor, client } = given;
  const pauses = new PauseFinder({
    ...context,
    tell: (found) => transactor.handle({ kind: 'pauses-found', pauses: found }),
    ...(client.isOn && { ask: (id) => client.ask((cri, options) => cri.readPause(id, options)) }),
  });
  context.events.on('decided', 'looking for pause containers', ({ request }) => {
    if (request) pauses.follow(request);
  });
  const parts = { ...given, pauses };
  if (context.config.mode === 'nri') return new NriAttachment(parts);
  const { ProxyAttachment } = await import('./proxy-attachment');
  return new ProxyAttachment(parts);
}
