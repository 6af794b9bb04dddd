// The fields of the form that say which service a run measures.

import { element } from "../element";
import { request, type Service } from "./api";

const own = "", address = "\naddress"; // values that cannot be the name of a service
const mix = "\nmix", flow = "\nflow"; // nor of a call

export class ServiceFields {
  private services: Service[] = [];
  private drafted: string[] = []; // calls of the service file below
  private canCallAddress = false;
  private service = element("select", { id: "service" });
  private call = element("select", { id: "call" });
  private callField = element("div", { class: "field" }, element("label", { for: "call" }, "Call"), this.call);
  private shares = element("div", { class: "fields" });
  private mixField = element("fieldset", {}, element("legend", {}, "Share of each call, as a percentage such as 80% or a weight; empty: not called"), this.shares);
  private order = element("input", { id: "flow", type: "text", autocomplete: "off", spellcheck: "false" });
  private flowField = element("div", { class: "field" }, element("label", { for: "flow" }, "Calls of a flow in their order, with commas"), this.order);
  private at = element("input", { id: "address", type: "text", placeholder: "127.0.0.1:50051", autocomplete: "off" });
  private find = element("button", { type: "button", class: "action plain" }, "Find its methods");
  private text = element("textarea", { id: "file", rows: "14", spellcheck: "false" });
  private file = element("div", { class: "field" }, element("label", { for: "file" }, "Service file: set values that your service accepts"), this.text);
  private problem = element("p", { role: "status", class: "warning" });
  readonly fields = [element("div", { class: "field" }, element("label", { for: "service" }, "Service"), this.service), this.callField];
  readonly details = element("div", {}, element("div", { class: "fields" }, element("div", { class: "field" }, element("label", { for: "address" }, "Address on the server's machine"), this.at), this.find), this.problem, this.file);
  readonly several = element("div", {}, this.mixField, this.flowField);

  constructor() {
    this.service.addEventListener("change", () => this.show());
    this.call.addEventListener("change", () => this.showSeveral());
    this.find.addEventListener("click", () => void this.draft());
  }

  async fetch(): Promise<void> {
    const { services, address: canCall } = await request<{ services: Service[]; address: boolean }>("/api/v1/services");
    this.services = services;
    this.canCallAddress = canCall;
    this.requireOne(false);
  }

  // offered reports whether there is a service besides rpclab's own servers.
  offered(): boolean {
    return this.services.length > 0 || this.canCallAddress;
  }

  // requireOne offers rpclab's own servers only to experiments that compare.
  requireOne(required: boolean): void {
    const before = this.service.value;
    const options: [string, string][] = [...(required ? [] : [[own, "rpclab's own servers"] as [string, string]]), ...this.services.map((s): [string, string] => [s.name, s.name]), ...(this.canCallAddress ? [[address, "at an address …"] as [string, string]] : [])];
    this.service.replaceChildren(...options.map(([value, label]) => element("option", { value }, label)));
    if (options.some(([value]) => value === before)) this.service.value = before;
    this.fields[0].hidden = !this.offered();
    this.show();
  }

  // chosen returns the fields of the request.
  chosen(): Record<string, unknown> {
    switch (this.service.value) {
      case own:
        return {};
      case address:
        if (this.text.value === "") throw new Error("Find the methods of the address first.");
        return { service_text: this.text.value, ...this.calls() };
    }
    return { service: this.service.value, ...this.calls() };
  }

  // calls returns which calls of the service a run makes.
  private calls(): Record<string, unknown> {
    switch (this.call.value) {
      case mix:
        return { mix: Object.fromEntries([...this.shares.querySelectorAll("input")].filter((i) => i.value.trim()).map((i) => [i.name, i.value.trim()])) };
      case flow:
        return { flow: this.order.value.split(",").map((name) => name.trim()).filter((name) => name) };
    }
    return { call: this.call.value };
  }

  private show(): void {
    const chosen = this.service.value;
    this.details.hidden = chosen !== address;
    this.problem.hidden = this.problem.textContent === "";
    this.file.hidden = this.text.value === "";
    this.callField.hidden = chosen === own || (chosen === address && this.text.value === "");
    this.offerCalls(chosen === address ? this.drafted : this.services.find((s) => s.name === chosen)?.calls ?? []);
  }

  private offerCalls(calls: string[]): void {
    const several: [string, string][] = calls.length > 1 ? [[mix, "several, by share (mix)"], [flow, "several, in order (flow)"]] : [];
    this.call.replaceChildren(...[...calls.map((c) => [c, c]), ...several].map(([value, label]) => element("option", { value }, label)));
    this.shares.replaceChildren(...calls.map((c, i) =>
      element("div", { class: "field share" }, element("label", { for: `share-${i}` }, c), element("input", { id: `share-${i}`, name: c, type: "text", value: "1", autocomplete: "off" }))));
    this.order.value = calls.join(", ");
    this.showSeveral();
  }

  private showSeveral(): void {
    this.mixField.hidden = this.call.value !== mix;
    this.flowField.hidden = this.call.value !== flow;
  }

  private async draft(): Promise<void> {
    this.find.disabled = true;
    this.problem.textContent = "";
    try {
      const { text, calls } = await request<{ text: string; calls: string[] }>("/api/v1/services/draft", { address: this.at.value });
      this.text.value = text;
      this.drafted = calls;
    } catch (error) {
      this.problem.textContent = error instanceof Error ? error.message : String(error);
    }
    this.find.disabled = false;
    this.show();
  }
}
