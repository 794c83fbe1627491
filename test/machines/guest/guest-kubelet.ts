import { type PodSandboxConfig, RuntimeServiceDefinition } from '../../../gen/cri/v1/cri';
import { type Channel, openChannel } from '../../../src/cri/client';
import { Kubelet, type PodSpec } from '../../e2e/rig/kubelet';
import type { RunningPod } from '../../e2e/rig/pod';
import type { RuntimeFacts } from '../../e2e/rig/runtime';
import { withPatience } from './patience';
import { locateContainers, nameSlice } from './systemd-cgroups';

/** The rig's kubelet, with the time that an emulated machine needs, and with either cgroup driver. */
export class GuestKubelet extends Kubelet {
  override readonly channel: Channel;
  readonly #driver: 'cgroupfs' | 'systemd';

  constructor(facts: RuntimeFacts, driver: 'cgroupfs' | 'systemd') {
    super(facts.criSocket, facts);
    const channel = withPatience(openChannel(facts.criSocket, RuntimeServiceDefinition.fullName));
    this.channel = driver === 'systemd' ? inSlices(channel) : channel;
    this.#driver = driver;
  }

  override async runPod(spec: PodSpec): Promise<RunningPod> {
    const pod = await super.runPod(spec);
    return this.#driver === 'systemd' ? locateContainers(pod) : pod;
  }
}

/** Puts pods in slices; the pod's own copy of its configuration says so from then on. */
function inSlices(channel: Channel): Channel {
  return {
    call(method, request, options) {
      const { linux } = (request as { config?: PodSandboxConfig }).config ?? {};
      if (method.name === RuntimeServiceDefinition.methods.runPodSandbox.name && linux !== undefined)
        linux.cgroupParent = nameSlice(linux.cgroupParent);
      return channel.call(method, request, options);
    },
    close: () => channel.close(),
  };
}
