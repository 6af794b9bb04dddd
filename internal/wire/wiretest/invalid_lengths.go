package wiretest

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// frame is a script that answers with one raw frame; stream 1 means that of the call.
func frame(kind http2.FrameType, flags http2.Flags, stream uint32, payload ...byte) script {
	return answers(func(p *serverConn, id uint32) error {
		if stream != 0 {
			id += stream - 1
		} else {
			id = 0
		}
		return p.framer.WriteRawFrame(kind, flags, id, payload)
	})
}

func settingBytes(id http2.SettingID, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(nil, uint16(id)), value)
}

// invalidLengths are frames whose length or value is wrong.
func invalidLengths() []Scenario {
	const onConnection, onCall = 0, 1
	all := []Scenario{
		{Name: "PING of 7 bytes", Source: "6.7", script: frame(http2.FramePing, 0, onConnection, make([]byte, 7)...)},
		{Name: "PING of 9 bytes", Source: "6.7", script: frame(http2.FramePing, 0, onConnection, make([]byte, 9)...)},
		{Name: "PING on a stream", Source: "6.7", script: frame(http2.FramePing, 0, onCall, make([]byte, 8)...)},
		{Name: "SETTINGS of 5 bytes", Source: "6.5", script: frame(http2.FrameSettings, 0, onConnection, make([]byte, 5)...)},
		{Name: "SETTINGS acknowledgement with a payload", Source: "6.5", script: frame(http2.FrameSettings, http2.FlagSettingsAck, onConnection, make([]byte, 6)...)},
		{Name: "SETTINGS on a stream", Source: "6.5", script: frame(http2.FrameSettings, 0, onCall)},
		{Name: "initial window of 2^31", Source: "6.5.2", script: frame(http2.FrameSettings, 0, onConnection, settingBytes(http2.SettingInitialWindowSize, 1<<31)...)},
		{Name: "frames of 1 byte at most", Source: "6.5.2", script: frame(http2.FrameSettings, 0, onConnection, settingBytes(http2.SettingMaxFrameSize, 1)...)},
		{Name: "frames of 2^24 bytes at most", Source: "6.5.2", script: frame(http2.FrameSettings, 0, onConnection, settingBytes(http2.SettingMaxFrameSize, 1<<24)...)},
		{Name: "push enabled by 2", Source: "6.5.2", script: frame(http2.FrameSettings, 0, onConnection, settingBytes(http2.SettingEnablePush, 2)...)},
		{Name: "RST_STREAM of 3 bytes", Source: "6.4", script: frame(http2.FrameRSTStream, 0, onCall, 0, 0, 0)},
		{Name: "WINDOW_UPDATE of 3 bytes", Source: "6.9", script: frame(http2.FrameWindowUpdate, 0, onConnection, 0, 0, 1)},
		{Name: "WINDOW_UPDATE of 0 on the connection", Source: "6.9", script: frame(http2.FrameWindowUpdate, 0, onConnection, 0, 0, 0, 0)},
		{Name: "WINDOW_UPDATE of 0 on a stream", Source: "6.9", script: frame(http2.FrameWindowUpdate, 0, onCall, 0, 0, 0, 0)},
		{Name: "GOAWAY of 7 bytes", Source: "6.8", script: frame(http2.FrameGoAway, 0, onConnection, make([]byte, 7)...)},
		{Name: "GOAWAY on a stream", Source: "6.8", script: frame(http2.FrameGoAway, 0, onCall, make([]byte, 8)...)},
		{Name: "PRIORITY of 4 bytes", Source: "6.3", script: frame(http2.FramePriority, 0, onCall, make([]byte, 4)...)},
		{Name: "more padding than DATA", Source: "6.1", script: afterHeaders(func(p *serverConn, id uint32) error {
			return p.framer.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, id, []byte{9, 0, 0})
		})},
		{Name: "padded DATA without a length", Source: "6.1", script: afterHeaders(func(p *serverConn, id uint32) error {
			return p.framer.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, id, nil)
		})},
		{Name: "more padding than HEADERS", Source: "6.2", script: frame(http2.FrameHeaders, http2.FlagHeadersPadded|http2.FlagHeadersEndHeaders, onCall, 200, 0x88)},
		{Name: "HEADERS too short for their priority", Source: "6.2", script: frame(http2.FrameHeaders, http2.FlagHeadersPriority|http2.FlagHeadersEndHeaders, onCall, 0, 0)},
		{Name: "frame over the limit", Source: "4.2", script: afterHeaders(func(p *serverConn, id uint32) error {
			// Longer than any client lets a frame be by default, though still in its windows.
			return p.framer.WriteRawFrame(http2.FrameData, 0, id, make([]byte, 60000))
		})},
		{Name: "the longest of all frames", Source: "4.2", script: answers(func(p *serverConn, _ uint32) error {
			return p.framer.WriteRawFrame(0xbb, 0, 0, make([]byte, 1<<24-1))
		})},
		{Name: "stream window over 2^31-1", Source: "6.9.1", script: answers(func(p *serverConn, id uint32) error {
			return p.framer.WriteWindowUpdate(id, maxWindow)
		})},
		{Name: "connection window over 2^31-1", Source: "6.9.1", script: answers(func(p *serverConn, _ uint32) error {
			if err := p.framer.WriteWindowUpdate(0, maxWindow); err != nil {
				return err
			}
			return p.framer.WriteWindowUpdate(0, maxWindow)
		})},
	}
	for i := range all {
		all[i].Source = "RFC 9113, section " + all[i].Source
	}
	return all
}

// afterHeaders is a script that begins a response well.
func afterHeaders(then func(p *serverConn, id uint32) error) script {
	return answers(func(p *serverConn, id uint32) error {
		if err := p.headers(id, false, opening...); err != nil {
			return err
		}
		return then(p, id)
	})
}
