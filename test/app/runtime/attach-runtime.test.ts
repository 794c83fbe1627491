import { attachRuntime } from '../../../src/app/runtime/attach-runtime';
import type { AttachmentParts } from '../../../src/app/runtime/attachment';
import { NriAttachment } from '../../../src/app/runtime/nri-attachment';
import { ProxyAttachment } from '../../../src/app/runtime/proxy-attachment';
import type { Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

function attach(config: object, client: object = { isOn: false }) {
  const context = contextOf({ model: new NodeDriver().model, cgroups: {} as Cgroups, config });
  const connection = { state: 'off', since: '', reason: '' };
  return attachRuntime({
    context,
    client: { connection, followCalls: () => undefined, ...client },
  } as unknown as AttachmentParts);
}

const NRI = { mode: 'nri', nriSocket: '/nri.sock', nriPluginName: 'cpusetd', nriPluginIndex: '50' };
const PROXY = { mode: 'cri-proxy', criEndpoint: '/cri.sock', criListen: { path: '/proxy.sock' } };

test('the mode chooses the attachment', async () => {
  expect((await attach(NRI)).attachment).toBeInstanceOf(NriAttachment);
  expect((await attach(PROXY)).attachment).toBeInstanceOf(ProxyAttachment);
});

test('the runtime can be listed only with a CRI endpoint', async () => {
  const listing = { pods: [], containers: [] };
  expect((await attach(NRI)).list).toBeUndefined();
  const { list } = await attach(NRI, { isOn: true, list: () => Promise.resolve(listing) });
  expect(await list!()).toBe(listing);
});

test('resynchronize is passed to the attachment', async () => {
  const { attachment, resynchronize } = await attach(NRI);
  const passed = jest.spyOn(attachment, 'resynchronize').mockImplementation(() => undefined);
  resynchronize(['a']);
  expect(passed).toHaveBeenCalledTimes(1);
});
