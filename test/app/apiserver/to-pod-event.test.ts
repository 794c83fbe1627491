import { toPodEvent } from '../../../src/app/apiserver/to-pod-event';
import { buildTopology } from '../../../src/core/topology';
import { NodeDriver } from '../../core/transition/node-driver';
import { createRandom } from '../../support/random';
import { randomText, unsafeIn } from '../../support/unsafe-text';

/** What the API server takes as the text of an Event. */
const LONGEST_MESSAGE = 1_024;

test('whatever the reason quotes, the text of an Event is one harmless line that the API server takes', () => {
  const topology = buildTopology({
    cpus: Array.from({ length: 4 }, (_, id) => ({ id, core: id, socket: 0, numaNode: 0, uncoreCache: 0 })),
  });
  const node = new NodeDriver(topology, {});
  node.run('make web/a 1');
  const random = createRandom(9);
  for (let i = 0; i < 200; i++) {
    const because = randomText(random, random.int(0, 2_000));
    const container = randomText(random, 20);
    const news = toPodEvent(node.model, {
      kind: 'refused',
      subject: { podUid: 'web', pod: 'ns/web', container },
      code: 'INTERNAL',
      because,
      problem: undefined,
    });
    expect(unsafeIn(news!.message)).toBeUndefined();
    expect(news!.message.length).toBeLessThanOrEqual(LONGEST_MESSAGE);
  }
});
