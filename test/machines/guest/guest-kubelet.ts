import { RuntimeServiceDefinition } from '../../../gen/cri/v1/cri';
import { type Channel, openChannel } from '../../../src/cri/client';
import { Kubelet } from '../../e2e/rig/kubelet';
import type { RuntimeFacts } from '../../e2e/rig/runtime';
import { withPatience } from './patience';

/** The rig's kubelet, with the time that an emulated machine needs. */
export class GuestKubelet extends Kubelet {
  override readonly channel: Channel;

  constructor(facts: RuntimeFacts) {
    super(facts.criSocket, facts);
    this.channel = withPatience(openChannel(facts.criSocket, RuntimeServiceDefinition.fullName));
  }
}
