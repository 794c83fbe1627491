/**
 * The envelope codec written by hand against the generated one, on the messages of a CreateContainer call.
 *
 * Method: both do the same job, from bytes to fields and from fields to bytes, in one process, interleaved in rounds;
 * the best round of each counts. The generated encoder's output still lacks the message header, so its figure is low.
 */
import { performance } from 'node:perf_hooks';

import { Request, Response } from '../test/gen/ttrpc';
import { decodeRequest, encodeRequest, encodeSuccess } from '../src/wire/envelope';

const metadata = [{ key: 'containerd-namespace-ttrpc', value: 'k8s.io' }];
const names = { service: 'nri.pkg.api.v1alpha1.Plugin', method: 'CreateContainer', metadata };
const payload = Buffer.alloc(4200, 7);
const answer = Buffer.alloc(30, 1);
const request = Buffer.from(
  Request.encode(Request.create({ ...names, payload, timeoutNano: 1_999_415_679n })).finish(),
);

const jobs: Record<string, Record<string, () => unknown>> = {
  'decode a request': {
    hand: () => decodeRequest(request, 0, request.length),
    generated: () => Request.decode(request),
  },
  'encode a response': {
    hand: () => encodeSuccess(8, 7, answer),
    generated: () => Response.encode({ status: undefined, payload: answer }).finish(),
  },
  'encode a request': {
    hand: () => encodeRequest(8, 7, { ...names, payload, timeoutNano: 1_999_415_679 }),
    generated: () => Request.encode({ ...names, payload, timeoutNano: 1_999_415_679n }).finish(),
  },
};

const perRound = 20_000;
const rounds = 15;

for (const [job, codecs] of Object.entries(jobs)) {
  const bestNs = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    for (const [codec, run] of Object.entries(codecs)) {
      const startMs = performance.now();
      for (let i = 0; i < perRound; i++) run();
      const ns = ((performance.now() - startMs) * 1e6) / perRound;
      bestNs.set(codec, Math.min(bestNs.get(codec) ?? Infinity, ns));
    }
  }
  const [hand, generated] = [bestNs.get('hand')!, bestNs.get('generated')!];
  console.log(
    `${job}: by hand ${Math.round(hand)} ns, generated ${Math.round(generated)} ns (${(generated / hand).toFixed(1)}×)`,
  );
}
