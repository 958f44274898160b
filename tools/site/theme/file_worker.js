// A page that is opened from a disk may start no worker, and the search is one. There, a hidden
// frame does a worker's work.

if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      const answer = (data) => this.onmessage?.(new MessageEvent("message", { data }));
      inside.postMessage = (data) => setTimeout(answer, 0, data);
      const script = inside.document.createElement("script");
      script.src = new URL(address, location.href);
      script.onload = () => {
        const told = this.waiting;
        this.waiting = null;
        for (const data of told) this.postMessage(data);
      };
      script.onerror = (problem) => this.onerror?.(problem);
      inside.document.head.append(script);
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.contentWindow.onmessage(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
